/* The sequencer of the transparency log: two servers, kills at every step, leases that end, and one restore of the database from a backup.
 *
 * Each "step:" names the function of the code that the atomic block stands for; a test compares them (names_test.go).
 * An entry is a number that is used once, so two trees are the same when their entries are. The store of marks and what the world has seen
 * of the log are not restored.
 *
 * Safe: no signed tree contradicts one that was signed before, unless the log was stopped (ErrFork).
 * Assumed: a batch ends within its lease (stepLimit < leaseTime).
 * Mutants: -DMUTANT=1 to 5, see each MUTANT below.
 */
#ifndef MUTANT
#define MUTANT 0
#endif
#define MOST 3 /* entries in a tree */

typedef tree { byte size; byte entry[MOST + 1] }
typedef place { bool there; byte size; byte entry[MOST + 1] }

/* the database */
tree db; byte published = 0; byte generation = 0;
byte leader = 0; bool leased = false;
tree backup; byte backupPublished = 0; byte backupGeneration = 0;
/* the blob store and the world */
place mark[2];
byte seen[MOST + 1];
byte fresh = 1;      /* the next entry */
byte busy = 0;       /* a server between lead and the end of its batch: its lease cannot end */
byte life[3];        /* of each server: raised when it is killed */

inline sign(r) { /* what is published is seen by others */
	i = 1;
	do
	:: i <= r.size -> assert(seen[i] == 0 || seen[i] == r.entry[i]); seen[i] = r.entry[i]; i++
	:: else -> break
	od
}

inline copy(to, from) {
	to.size = from.size; i = 1;
	do :: i <= MOST -> to.entry[i] = from.entry[i]; i++ :: else -> break od
}

inline alive() { /* a killed server begins anew */
	if :: my != life[me] -> goto again :: else fi
}

inline same(a, b, upto) { /* sets ok */
	ok = true; i = 1;
	do :: i <= upto -> if :: a.entry[i] != b.entry[i] -> ok = false :: else fi; i++ :: else -> break od
}

proctype server(byte me) {
	tree r; tree last; byte largest; byte i; bool ok; byte my; byte g;
	bool known = false; /* last is what this process has left */
again:
	if :: my != life[me] -> my = life[me]; known = false :: else fi;
	/* step: internal/translog.lead */
	atomic {
		(leader == 0 || leader == me || !leased) && !(db.size == MOST && published == MOST);
		leader = me; leased = true; busy = me; copy(r, db);
		ok = known && last.size == r.size;
		if :: ok -> same(last, r, r.size) :: else fi;
	}
	/* step: internal/translog.checkMark */
	if
	:: !ok && MUTANT != 1 -> /* MUTANT 1: a new leader does not ask the mark */
		atomic {
			alive();
			largest = 2;
			if
			:: mark[0].there && (!mark[1].there || mark[0].size >= mark[1].size) -> largest = 0
			:: mark[1].there && (!mark[0].there || mark[1].size > mark[0].size) -> largest = 1
			:: else
			fi;
			ok = true;
			if
			:: largest < 2 && mark[largest].size > r.size -> ok = false
			:: largest < 2 && mark[largest].size <= r.size -> same(mark[largest], r, mark[largest].size)
			:: else
			fi;
			if
			:: !ok -> busy = 0; leader = 0; leased = false; goto stopped /* ErrFork */
			:: else -> copy(last, r); known = true
			fi
		}
	:: else
	fi;
	/* step: internal/translog.integrate */
	atomic {
		alive();
		g = generation;
		if
		:: published < r.size -> skip /* a leader stopped between two steps */
		:: else ->
			if
			:: leader == me && leased && db.size == r.size && r.size < MOST ->
				db.size++; db.entry[db.size] = fresh; fresh++; generation++; g = generation;
				copy(r, db); copy(last, r)
			:: else -> busy = 0; goto again
			fi
		fi
	}
	/* MUTANT 2: the checkpoint is signed before its mark is written */
	if :: MUTANT == 2 -> atomic { alive(); if :: leader == me && leased && db.size == r.size -> published = r.size; sign(r) :: else fi } :: else fi;
	/* step: internal/translog.writeMark */
	atomic { /* MUTANT 3: there is one place, so that a crash can leave none */
		alive();
		g = (MUTANT == 3 -> 0 : g % 2);
		mark[g].there = false
	}
	/* step: internal/translog.writeMark */
	atomic { alive(); mark[g].there = true; mark[g].size = r.size; i = 1; do :: i <= MOST -> mark[g].entry[i] = r.entry[i]; i++ :: else -> break od }
	/* step: internal/translog.publish */
	atomic {
		alive();
		if
		:: MUTANT == 4 -> published = r.size; sign(r) /* MUTANT 4: published without a look at leader and tree */
		:: MUTANT != 4 && MUTANT != 2 && leader == me && leased && db.size == r.size ->
			same(db, r, r.size);
			if :: ok -> published = r.size; sign(r) :: else fi
		:: else
		fi;
		busy = 0
	}
	goto again;
stopped: skip
}

/* A lease ends while its holder does nothing. MUTANT 4 and 5: it may end in the middle of a batch (no stepLimit). */
proctype clock() {
	byte n = 0;
	do :: n < 2 -> atomic { leased && (busy != leader || MUTANT >= 4); leased = false; n++ } :: break od
}

/* kill -9 of a server between two steps of its batch. Its lease stays until it ends. */
proctype killer() {
	byte n = 0;
	do :: n < 2 -> atomic { busy != 0; life[busy]++; busy = 0; n++ } :: break od
}

/* A backup of the database, and its restore while no server runs. */
proctype operator() {
	byte i;
	atomic { copy(backup, db); backupPublished = published; backupGeneration = generation }
	atomic { copy(db, backup); published = backupPublished; generation = backupGeneration; leader = 0; leased = false; busy = 0; life[1]++; life[2]++ }
}

init { atomic { run server(1); run server(2); run clock(); run killer(); run operator() } }
