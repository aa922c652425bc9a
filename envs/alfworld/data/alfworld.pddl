; The rules of a household game for the engine: what the six kinds of tasks need and no more.
; Predicates and actions are called as in the games of ALFWorld, so that one reader serves both.
; `checked` is what commands change that only look: the engine drops actions without an effect.
(define (domain household)
  (:requirements :adl :typing)
  (:types agent location receptacle item rtype otype)
  (:constants SinkBasinType MicrowaveType FridgeType - rtype)
  (:predicates
    (atLocation ?a - agent ?l - location)
    (receptacleAtLocation ?r - receptacle ?l - location)
    (receptacleType ?r - receptacle ?t - rtype)
    (objectType ?o - item ?t - otype)
    (canContain ?rt - rtype ?ot - otype)
    (openable ?r - receptacle)
    (opened ?r - receptacle)
    (inReceptacle ?o - item ?r - receptacle)
    (isReceptacleObject ?o - item)
    (holds ?a - agent ?o - item)
    (holdsAny ?a - agent)
    (pickupable ?o - item)
    (cleanable ?o - item)
    (heatable ?o - item)
    (coolable ?o - item)
    (toggleable ?o - item)
    (isClean ?o - item)
    (isHot ?o - item)
    (isCool ?o - item)
    (isToggled ?o - item)
    (checked ?x)
  )

  (:action look
    :parameters (?a - agent ?l - location)
    :precondition (atLocation ?a ?l)
    :effect (checked ?l))

  (:action inventory
    :parameters (?a - agent)
    :precondition ()
    :effect (checked ?a))

  (:action examineReceptacle
    :parameters (?a - agent ?l - location ?r - receptacle)
    :precondition (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l))
    :effect (checked ?r))

  ; The official rules speak of objects in sight too, but the engine makes nothing of that part.
  (:action examineObject
    :parameters (?a - agent ?o - item)
    :precondition (holds ?a ?o)
    :effect (checked ?o))

  (:action GotoLocation
    :parameters (?a - agent ?from - location ?to - location ?r - receptacle)
    :precondition (and (atLocation ?a ?from) (receptacleAtLocation ?r ?to))
    :effect (and (not (atLocation ?a ?from)) (atLocation ?a ?to)))

  (:action OpenObject
    :parameters (?a - agent ?l - location ?r - receptacle)
    :precondition (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l) (openable ?r) (not (opened ?r)))
    :effect (opened ?r))

  (:action CloseObject
    :parameters (?a - agent ?l - location ?r - receptacle)
    :precondition (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l) (openable ?r) (opened ?r))
    :effect (not (opened ?r)))

  (:action PickupObject
    :parameters (?a - agent ?l - location ?o - item ?r - receptacle)
    :precondition
      (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l) (inReceptacle ?o ?r) (pickupable ?o)
           (not (holdsAny ?a)) (or (not (openable ?r)) (opened ?r)))
    :effect (and (not (inReceptacle ?o ?r)) (holds ?a ?o) (holdsAny ?a)))

  (:action PutObject
    :parameters (?a - agent ?l - location ?o - item ?r - receptacle ?ot - otype ?rt - rtype)
    :precondition
      (and (holds ?a ?o) (atLocation ?a ?l) (receptacleAtLocation ?r ?l) (or (not (openable ?r)) (opened ?r))
           (objectType ?o ?ot) (receptacleType ?r ?rt) (canContain ?rt ?ot))
    :effect (and (inReceptacle ?o ?r) (not (holds ?a ?o)) (not (holdsAny ?a))))

  (:action CleanObject
    :parameters (?a - agent ?l - location ?r - receptacle ?o - item)
    :precondition
      (and (holds ?a ?o) (cleanable ?o) (atLocation ?a ?l) (receptacleAtLocation ?r ?l)
           (receptacleType ?r SinkBasinType))
    :effect (isClean ?o))

  (:action HeatObject
    :parameters (?a - agent ?l - location ?r - receptacle ?o - item)
    :precondition
      (and (holds ?a ?o) (heatable ?o) (atLocation ?a ?l) (receptacleAtLocation ?r ?l)
           (receptacleType ?r MicrowaveType))
    :effect (and (isHot ?o) (not (isCool ?o))))

  (:action CoolObject
    :parameters (?a - agent ?l - location ?r - receptacle ?o - item)
    :precondition
      (and (holds ?a ?o) (coolable ?o) (atLocation ?a ?l) (receptacleAtLocation ?r ?l)
           (receptacleType ?r FridgeType))
    :effect (and (isCool ?o) (not (isHot ?o))))

  (:action ToggleObject
    :parameters (?a - agent ?l - location ?o - item ?r - receptacle)
    :precondition (and (toggleable ?o) (atLocation ?a ?l) (receptacleAtLocation ?r ?l) (inReceptacle ?o ?r))
    :effect (isToggled ?o))
)
