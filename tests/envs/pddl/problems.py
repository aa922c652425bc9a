"""Small planning problems that the tests write to files."""

from pathlib import Path

BLOCKS = Path(__file__).with_name("blocks.pddl").read_text(encoding="utf-8")
TOWER = Path(__file__).with_name("tower.pddl").read_text(encoding="utf-8")
IMPOSSIBLE = TOWER.replace("(and (on blue Red) (on Red yellow))", "(and (on blue Red) (on Red blue))")

ROADS = """(define (domain roads)
(:requirements :typing :action-costs :numeric-fluents :preferences)
(:types place)
(:predicates (at ?p - place) (road ?a ?b - place) (rail ?a ?b - place) (seen ?p - place))
(:functions (total-cost) (duration) (price ?a ?b - place) (fuel))
(:action drive :parameters (?a ?b - place) :precondition (and (at ?a) (road ?a ?b))
 :effect (and (not (at ?a)) (at ?b) (seen ?b) (increase (total-cost) (price ?a ?b)) (increase (duration) 10)
 (increase (fuel) 2)))
(:action ride :parameters (?a ?b - place) :precondition (and (at ?a) (rail ?a ?b) (>= (fuel) 0))
 :effect (and (not (at ?a)) (at ?b) (seen ?b) (increase (total-cost) 1) (increase (duration) 60))))
"""

TRIP = """(define (problem trip) (:domain roads) (:objects a b c - place)
(:init (at a) (road a b) (road b c) (rail a b) (rail b c) (= (price a b) 7) (= (price b c) 4.5) (= (total-cost) 0)
 (= (duration) 5) (= (fuel) 0))
(:goal (at c))
(:metric minimize (total-cost)))
"""

WISHES = """(define (problem wishes) (:domain roads) (:objects a b c d - place)
(:init (at a) (rail a b) (rail b c) (rail a c) (rail c d) (= (total-cost) 0) (= (duration) 0) (= (fuel) 0))
(:goal (and (at c) (preference by-b (seen b)) (preference by-d (seen d))))
(:metric minimize (+ (total-cost) (* 5 (is-violated by-b)) (* 2 (is-violated by-d)))))
"""


def written(folder: Path, domain: str, problem: str) -> tuple[Path, Path]:
    """The files of a domain and a problem."""
    files = folder / "domain.pddl", folder / "problem.pddl"
    for file, text in zip(files, (domain, problem), strict=True):
        file.write_bytes(text.encode())
    return files
