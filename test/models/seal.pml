/* An object of two segments: two replicas write each, two seal the object, leases end, and the store loses bytes once (a restored backup).
 *
 * Each "step:" names the function of the code that the atomic block stands for; a test compares them (names_test.go).
 * A byte is 1 or 2: clients may send other bytes the second time.
 *
 * Safe: when the sums are complete, they are those of the bytes that the store has.
 * Assumed: a writer whose lease has ended writes no more (leaseMargin: it renews in time or stops).
 * Mutants: -DMUTANT=1 to 4, see each MUTANT below.
 */
#ifndef MUTANT
#define MUTANT 0
#endif
#define SIZE 1 /* bytes of a segment */

/* rows */
byte held[2], epoch[2];
byte summed = 0;        /* bytes of the object whose sums are saved */
byte sum[2];            /* the bytes that they are of */
byte sealEpoch = 0;
bool sealLeased = false;
/* the store */
byte stored[2];         /* the byte of each segment; 0: none */
byte losses = 0;
bool read0 = false;     /* the first segment was read since it was held */

byte writing[2];        /* writers that still may write a segment, by the clock of their lease */

inline whole() {
	assert(summed < 2 || (sum[0] == stored[0] && sum[1] == stored[1]))
}

proctype writer(byte g; byte value) {
	byte my;
again:
	/* step: internal/transfer/content.take */
	atomic { held[g] < SIZE && epoch[g] < 3; epoch[g]++; my = epoch[g] };
	/* step: internal/transfer/content.await */
	atomic { (writing[g] == 0 || MUTANT == 1); writing[g]++ }; /* MUTANT 1: it does not wait for the writer before */
	/* step: internal/transfer/content.write */
	if
	:: atomic { my == epoch[g] || MUTANT == 1 -> stored[g] = value } /* an older writer was stopped, or its lease ended */
	:: atomic { my != epoch[g] && MUTANT != 1 -> writing[g]--; goto stopped }
	fi;
	/* step: internal/transfer/content.save */
	atomic { /* MUTANT 2: progress is saved without a look at the epoch */
		if :: my == epoch[g] || MUTANT == 2 -> held[g] = SIZE :: else fi;
		writing[g]--; whole()
	};
stopped: skip
}

proctype sealer() {
	byte my, at, seen[2], i;
	byte n = 0;
	do
	:: n < 2 ->
		n++;
		/* step: internal/transfer/content.beginSeal */
		atomic { summed < 2 && !sealLeased; sealEpoch++; my = sealEpoch; sealLeased = true; at = summed; seen[0] = sum[0]; seen[1] = sum[1] };
		do
		:: at < 2 ->
			/* step: internal/transfer/content.read */
			if
			:: atomic { (held[at] == SIZE || MUTANT == 3) && stored[at] != 0 -> seen[at] = stored[at]; if :: at == 0 && my == sealEpoch -> read0 = true :: else fi; at++ } /* MUTANT 3: it reads segments that are still written */
			:: atomic { held[at] == SIZE && stored[at] == 0 -> /* the bytes are lost */
				/* step: internal/transfer/content.drop */
				if :: my == sealEpoch -> held[at] = 0; summed = 0 :: else fi;
				sealLeased = false; whole(); goto next }
			:: atomic { held[at] < SIZE && MUTANT != 3 -> break }
			fi
		:: at == 2 -> break
		od;
		/* step: internal/transfer/content.save */
		atomic { /* MUTANT 4: a sealer whose lease ended saves its sums */
			if :: my == sealEpoch || MUTANT == 4 -> summed = at; sum[0] = seen[0]; sum[1] = seen[1]; sealLeased = false :: else fi;
			whole()
		};
next:		skip
	:: break
	od
}

/* Leases of sealers end while these are slow. */
proctype clock() {
	byte n = 0;
	do :: n < 1 -> atomic { sealLeased; sealLeased = false; n++ } :: break od
}

/* The store is restored from a backup: a segment that was held is lost before anybody has read it. The client sends
 * it again. Loss afterwards is damage, which is what fsck and downloads find. */
proctype loss() {
	if
	:: atomic { held[0] == SIZE && summed == 0 && losses == 0 && !read0; stored[0] = 0; losses++ }
	:: true
	fi
}

init {
	atomic {
		run writer(0, 1); run writer(0, 2); run writer(1, 1);
		run sealer(); run sealer(); run clock(); run loss()
	}
}
