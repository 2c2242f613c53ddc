/* One segment and its writers, of two replicas: each is stopped by a newer one or left by its client while it waits, or starts over.
 *
 * Each "step:" names the function of the code that the atomic block stands for; a test compares them (names_test.go).
 * A lease is named by the epoch that took it. Leases last equally long, so one ends after those of all lower epochs.
 *
 * Safe: what is held is what the store has, and nobody writes beside another writer. seal.pml builds on this.
 * Assumed: a writer whose lease has ended writes no more (leaseMargin: it renews in time or stops).
 * Mutants: -DMUTANT=1 to 4, see each MUTANT below.
 */
#ifndef MUTANT
#define MUTANT 0
#endif
#define WRITERS 4

/* row */
byte epoch = 0;
byte lease = 0;             /* 0: it has ended */
byte held = 0;              /* the byte that was acknowledged; 0: none */
/* the store */
byte stored = 0;
/* memory of the replicas, by epoch except newest */
byte newest[2];             /* the last holder in this replica; 0: it has released */
bool done[WRITERS + 1];     /* it no longer touches the bytes */
byte former[WRITERS + 1];   /* the lease for which it has not waited yet */

byte writing = 0;           /* writers that may touch the bytes */
bool live[WRITERS + 1];     /* by epoch */
byte over = 0;              /* leases of epochs up to this one have ended */

/* Whether the lease of an epoch, and so those of all lower ones, can have ended. */
#define ENDED(e) (!(e >= 1 && live[1]) && !(e >= 2 && live[2]) && !(e >= 3 && live[3]) && !(e >= 4 && live[4]))

inline release() {
	done[my] = true;
	if :: newest[replica] == my -> newest[replica] = 0 :: else fi
}

proctype writer(byte replica; byte value) {
	byte my, previous;
	/* step: internal/transfer/content.beginWrite */
	atomic { epoch++; my = epoch; former[my] = lease; lease = my; held = 0 };
	/* step: internal/transfer/content.take */
	if
	:: atomic { newest[replica] < my -> previous = newest[replica]; newest[replica] = my }
	:: atomic { newest[replica] > my -> done[my] = true; goto stopped }
	fi;
	/* step: internal/transfer/content.await */
	atomic {
		previous == 0 || done[previous];
		if
		:: previous != 0 && previous == my - 1 ->
			if :: MUTANT == 1 -> former[my] = 0 :: else -> former[my] = former[previous] fi /* MUTANT 1: it waits for nobody whom previous was to wait for */
		:: else
		fi
	};
	if
	:: atomic { ENDED(former[my]) || MUTANT == 2; /* MUTANT 2: it waits for no other replica */
		if :: over < former[my] -> over = former[my] :: else fi;
		former[my] = 0 }
	:: goto leave
	fi;
	/* step: internal/transfer/content.open */
	if /* its own lease may have ended meanwhile: then it renews it */
	:: atomic { my > over || my == epoch -> writing++; live[my] = true; assert(writing == 1) }
	:: atomic { my <= over && my != epoch -> goto leave }
	fi;
	/* step: internal/transfer/content.write */
	atomic { stored = value; assert(held == 0 || held == stored) };
	/* step: internal/transfer/content.save */
	atomic { /* MUTANT 3: progress is saved without a look at the epoch */
		if :: my == epoch || MUTANT == 3 -> held = value; lease = 0 :: else fi;
		assert(held == 0 || held == stored);
		writing--; live[my] = false; release()
	};
	goto stopped;
leave:
	/* step: internal/transfer/content.rollback */
	atomic {
		if
		:: my == epoch -> if :: MUTANT == 4 -> lease = 0 :: else -> lease = former[my] fi /* MUTANT 4: it ends the lease of whom it was to wait for */
		:: else
		fi;
		release()
	};
stopped: skip
}

init {
	atomic { run writer(0, 1); run writer(1, 2); run writer(1, 3); run writer(0, 4) }
}
