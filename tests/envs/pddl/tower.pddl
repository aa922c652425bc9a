(define (problem tower) (:domain blocks) (:objects Red blue yellow)
(:init (hand-empty) (on-table blue) (on-table yellow) (on Red blue) (clear Red) (clear yellow))
(:goal (and (on blue Red) (on Red yellow))))
