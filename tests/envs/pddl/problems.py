"""Small planning problems that the tests write to files."""

from pathlib import Path

BLOCKS = """(define (domain blocks)
(:requirements :strips)
(:predicates (clear ?x) (on-table ?x) (hand-empty) (holding ?x) (on ?x ?y))
(:action pick-up :parameters (?b) :precondition (and (clear ?b) (on-table ?b) (hand-empty))
 :effect (and (holding ?b) (not (clear ?b)) (not (on-table ?b)) (not (hand-empty))))
(:action put-down :parameters (?b) :precondition (holding ?b)
 :effect (and (clear ?b) (hand-empty) (on-table ?b) (not (holding ?b))))
(:action stack :parameters (?b ?c) :precondition (and (clear ?c) (holding ?b))
 :effect (and (hand-empty) (clear ?b) (on ?b ?c) (not (clear ?c)) (not (holding ?b))))
(:action unstack :parameters (?b ?c) :precondition (and (on ?b ?c) (clear ?b) (hand-empty))
 :effect (and (holding ?b) (clear ?c) (not (on ?b ?c)) (not (clear ?b)) (not (hand-empty)))))
"""

TOWER = """(define (problem tower) (:domain blocks) (:objects Red blue yellow)
(:init (hand-empty) (on-table blue) (on-table yellow) (on Red blue) (clear Red) (clear yellow))
(:goal (and (on blue Red) (on Red yellow))))
"""

IMPOSSIBLE = TOWER.replace("(and (on blue Red) (on Red yellow))", "(and (on blue Red) (on Red blue))")

ROADS = """(define (domain roads)
(:requirements :typing :action-costs :numeric-fluents :preferences)
(:types place)
(:predicates (at ?p - place) (road ?a ?b - place) (rail ?a ?b - place) (seen ?p - place))
(:functions (total-cost) (minutes) (price ?a ?b - place) (fuel))
(:action drive :parameters (?a ?b - place) :precondition (and (at ?a) (road ?a ?b))
 :effect (and (not (at ?a)) (at ?b) (seen ?b) (increase (total-cost) (price ?a ?b)) (increase (minutes) 10)
 (increase (fuel) 2)))
(:action ride :parameters (?a ?b - place) :precondition (and (at ?a) (rail ?a ?b) (>= (fuel) 0))
 :effect (and (not (at ?a)) (at ?b) (seen ?b) (increase (total-cost) 1) (increase (minutes) 60))))
"""

TRIP = """(define (problem trip) (:domain roads) (:objects a b c - place)
(:init (at a) (road a b) (road b c) (rail a b) (rail b c) (= (price a b) 7) (= (price b c) 4.5) (= (total-cost) 0)
 (= (minutes) 5) (= (fuel) 0))
(:goal (at c))
(:metric minimize (total-cost)))
"""

WISHES = """(define (problem wishes) (:domain roads) (:objects a b c d - place)
(:init (at a) (rail a b) (rail b c) (rail a c) (rail c d) (= (total-cost) 0) (= (minutes) 0) (= (fuel) 0))
(:goal (and (at c) (preference by-b (seen b)) (preference by-d (seen d))))
(:metric minimize (+ (total-cost) (* 5 (is-violated by-b)) (* 2 (is-violated by-d)))))
"""


def written(folder: Path, domain: str, problem: str) -> tuple[Path, Path]:
    """The files of a domain and a problem."""
    files = folder / "domain.pddl", folder / "problem.pddl"
    for file, text in zip(files, (domain, problem), strict=True):
        file.write_bytes(text.encode())
    return files
