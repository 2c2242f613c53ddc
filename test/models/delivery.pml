/* One file between its upload and its end: a writer, a confirm, a forward, the expiry of the reservation, revocations, the purge, the sweep
 * of orphans, and one power cut.
 *
 * Each "step:" names the function of the code that the atomic block stands for; a test compares them (names_test.go). A transaction is an
 * atomic block, since each locks the rows that it decides about.
 *
 * Safe: a row never claims more bytes than are durable; a transfer that was acknowledged and not ended has all bytes; a purge leaves none.
 * Mutants: -DMUTANT=1 to 5, see each MUTANT below.
 */
#ifndef MUTANT
#define MUTANT 0
#endif
#define SIZE 2

mtype = { OPEN, CONFIRMED, EXPIRED, KEPT, DISCARDED, GONE };

mtype reservation = OPEN;
mtype content = KEPT;    /* KEPT: a row needs the bytes. DISCARDED: they await the purge. GONE: no row */
byte held = 0;           /* of the row */
byte cached = 0;         /* bytes that the store has taken */
byte durable = 0;        /* bytes that a power cut leaves */
byte holders = 0;        /* transfers that have the content */
bool first = false, second = false; /* the transfer of the confirm, and its forward: delivered and not ended */
bool writing = false;    /* a request of this process writes */

#define whole (durable == SIZE)
inline check() { assert(content != KEPT || held <= durable); assert(!first || whole); assert(!second || whole);
	assert(content != GONE || writing || durable == 0) }

proctype writer() {
	do
	:: atomic { reservation == OPEN && content == KEPT && held < SIZE; writing = true; cached = held };
		atomic { cached++ };
		/* MUTANT 2: the row is saved before the bytes are durable */
		if :: MUTANT == 2 -> atomic { held = cached; check() } :: else fi;
		/* step: internal/blob.Sync */
		atomic { if :: durable < cached -> durable = cached :: else fi };
		/* step: internal/transfer/content.checkpoint */
		atomic { if :: reservation == OPEN && content == KEPT && MUTANT != 2 -> held = durable :: else fi; writing = false; check() }
	:: break
	od
}

proctype confirm() {
	bool complete;
	/* step: internal/transfer/service.Confirm */
	if
	:: MUTANT == 1 -> /* MUTANT 1: the conditions are checked before the transaction that delivers */
		atomic { complete = (reservation == OPEN && held == SIZE) };
		atomic { if :: complete -> reservation = CONFIRMED; holders++; first = true; check() :: else fi }
	:: else -> atomic { if :: reservation == OPEN && held == SIZE -> reservation = CONFIRMED; holders++; first = true; check() :: else fi }
	fi
}

proctype expiry() {
	bool due;
	/* step: internal/transfer/service.ExpireReservations */
	if
	:: MUTANT == 3 -> /* MUTANT 3: what is expired is read before it is locked */
		atomic { due = (reservation == OPEN) };
		atomic { if :: due -> reservation = EXPIRED; content = DISCARDED :: else fi }
	:: else -> atomic { if :: reservation == OPEN -> reservation = EXPIRED; content = DISCARDED :: else fi }
	fi
}

proctype forward() {
	/* step: internal/transfer/service.Forward */
	atomic { if :: first -> holders++; second = true; check() :: else fi }
}

proctype revocations() {
	/* step: internal/transfer/service.erase */
	atomic { if :: first -> first = false; holders--; if :: holders == 0 || MUTANT == 4 -> content = DISCARDED :: else fi :: else fi }; /* MUTANT 4: forwards are forgotten */
	/* step: internal/transfer/service.erase */
	atomic { if :: second -> second = false; holders--; if :: holders == 0 || MUTANT == 4 -> content = DISCARDED :: else fi :: else fi }
}

proctype purge() {
	byte n = 0;
	do
	:: n < 2 ->
		/* step: internal/transfer/content.purge */
		atomic { content == DISCARDED && (!writing || MUTANT == 5); n++ }; /* MUTANT 5: bytes that a request still writes are deleted, and come back */
		atomic { cached = 0; durable = 0; check() };
		atomic { content = GONE; held = 0; check() }
	:: break
	od
}

proctype sweep() {
	bool orphan;
	/* step: internal/transfer/content.sweep */
	atomic { orphan = (content == GONE && durable > 0 && !writing) };
	atomic { if :: orphan -> cached = 0; durable = 0; check() :: else fi }
}

proctype cut() {
	/* The power: what was not flushed is gone, and so are the requests. */
	atomic { cached = durable; check() }
}

init {
	atomic { run writer(); run confirm(); run forward(); run expiry(); run revocations(); run purge(); run sweep(); run cut() }
}
