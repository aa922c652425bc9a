"""Templates of counting, comparing and sharing."""

from __future__ import annotations

from envs.gsm_hard.templates import Template

TEMPLATES: tuple[Template, ...] = (
    Template(
        "pool-and-share",
        "a:big b:big c:small",
        "add a b; divide #1 c",
        (
            "{name} has {a} {item} and {name2} has {b}. They put them together and share them equally among {c} "
            "children. How many does each child get?",
            "One truck brought {a} {food}, another truck brought {b}. All of them are split evenly between {c} "
            "shops. How many {food} does each shop get?",
            "[At|For] the {place}, {a} {item} and {b} {item2} were collected. They are packed evenly into {c} boxes. "
            "How many things are in each box?",
            "How many {item} does each of {c} schools get, if {a} {item} from {name} and {b} from {name2} are shared "
            "equally among them?",
            "{c} people share what they found: {a} coins on the first day and {b} coins on the second day. What is "
            "the equal share of one person, in coins?",
            "A total made of {a} old and {b} new {item} goes in equal parts to {c} families. How many {item} does "
            "each family get?",
        ),
    ),
    Template(
        "percent-left",
        "a:big b:pct",
        "multiply a b; divide #1 100; subtract a #2",
        (
            "{name} had {a} {item} and sold {b}% of them. How many {item} were left?",
            "Of the {a} people in a town, {b}% have moved away. How many people are left?",
            "A store had {a} {food}[ in {x} boxes|]. {b}% of the {food} were sold. How many {food} does it still have?",
            "How many of {a} {item} are left after {b}% of them were given away?",
            "{b}% of the {animal} on a farm are brown. The farm has {a} {animal}. How many {animal} are not brown?",
            "A fire burned {b}% of the {a} trees in a forest. What number of trees did not burn?",
        ),
    ),
    Template(
        "half-more",
        "a:big",
        "divide a 2; add a #1",
        (
            "A coat takes {a} rolls of blue cloth and half that much white cloth. How many rolls does it take in "
            "total?",
            "{name} picked {a} {food}. {name2} picked half as many. How many {food} did they pick together?",
            "There are {a} {item} on one table[, {x} lamps above it|] and half as many {item} on the other. How many "
            "{item} are on both tables?",
            "How many {animal} are there on two farms, if the first has {a} {animal} and the second only half of that?",
            "{name} earned ${a} in spring and half of that in summer. What did {he} earn in spring and summer "
            "together?",
            "In June {a} people came to the {place}. In July only half as many came. How many came in both months?",
        ),
    ),
    Template(
        "three-times-fewer",
        "a:big b:mid",
        "multiply a 3; subtract #1 b; add a #2",
        (
            "{name} has {a} {item}. {name2} has {b} fewer than three times as many. How many {item} do they have "
            "[together|in all]?",
            "A {place} got {a} books last year. This year it got three times that number, less {b}. How many books "
            "did it get in both years?",
            "One farm has {a} {animal}. Another has three times as many, minus {b} that were sold. How many {animal} "
            "do both farms have together?",
            "How many {food} do two trees carry together, if the small one has {a} and the big one has {b} fewer "
            "than three times the small one?",
            "{name} walked {a} steps on the first day. On the second day {he} walked {b} steps less than three times "
            "that. How many steps were it in two days?",
            "If {b} people had not left the new town, it would have three times as many people as the old town. The "
            "old town has {a} people. How many people live in the two towns?",
        ),
    ),
    Template(
        "twice-three-people",
        "a:big b:mid",
        "multiply a 2; add #1 b; add a #1; add #3 #2",
        (
            "{name} has {a} {item}. {name2} has twice as many as {name}. {name3} has {b} more than {name2}. How many "
            "do the three have [together|in all]?",
            "On the first day {a} people came, on the second day twice as many, and on the third day {b} more than "
            "on the second. How many came in the three days?",
            "A red box holds {a} {item}, a blue box holds twice that number and a green box holds {b} more than the "
            "blue one. How many {item} are in the three boxes?",
            "How many {food} were picked by three friends, if {name} picked {a}, {name2} picked twice that many and "
            "{name3} picked {b} more than {name2}?",
            "In May a shop sold {a} {item}. In June it sold twice as many as in May, and in July {b} more than in "
            "June. What was the total for these months?",
            "Twice as many {animal} are on the second farm as on the first farm, which has {a}. The third farm has "
            "{b} more {animal} than the second. How many {animal} are on all farms?",
        ),
    ),
    Template(
        "average",
        "a:big b:big c:big",
        "add a b; add #1 c; divide #2 3",
        (
            "{name} sold {a} {item} in the first month, {b} in the second and {c} in the third. What is the average "
            "per month?",
            "Three towns have {a}, {b} and {c} people. How many people do they have on average?",
            "What is the average number of {food} on three farms, if they have {a}, {b} and {c} {food}?",
            "{name} ran {a} meters, {name2} ran {b} meters and {name3} ran {c} meters. How many meters did the three "
            "run on average?",
            "[In {x} years the|The] {place} counted its visitors three times: {a}, then {b}, and then {c}. What was "
            "the average of these counts?",
            "The three shops of {name} earned ${a}, ${b} and ${c}. What would each have earned, if all three had "
            "earned the same with the same total?",
        ),
    ),
    Template(
        "buses",
        "a:big b:small c:pct d:small",
        "multiply a b; multiply #1 c; divide #2 100; divide #3 d",
        (
            "There are {a} classes with {b} pupils each. {c}% of the pupils go by bus. A bus holds {d} pupils. How "
            "many buses are needed, as an exact number?",
            "A state has {a} schools with {b} teachers each. {c}% of the teachers come to a meeting and sit in rows "
            "of {d}. How many rows do they fill?",
            "In {a} boxes there are {b} {item} each. {c}% of the {item} are blue, and the blue ones are put into "
            "bags of {d}. How many bags is that?",
            "{name} packed {a} baskets of {b} {food}. Only {c}% of the {food} were sold, always {d} at a time. How "
            "many sales were there?",
            "Every one of {a} trees has {b} {food}. If {c}% of the {food} are ripe, how many bags of {d} can be "
            "filled with ripe {food}?",
            "Tables for {d} people are wanted for {c}% of the guests. The guests came in {a} buses with {b} people "
            "in each bus. How many tables does that make?",
        ),
    ),
    Template(
        "reading",
        "a:big b:mid c:small d:few",
        "multiply b c; subtract a #1; divide #2 d",
        (
            "{name} has to read {a} pages. {He} reads {b} pages a day for {c} days. How many pages a day must {he} "
            "read to be done in the next {d} days?",
            "A road of {a} meters is built. For {c} days {b} meters were built each day. The rest has to be done in "
            "{d} days. How many meters a day is that?",
            "For {c} days a shop sold {b} {item} a day. It had {a} at the start, and wants to sell all that are left "
            "in {d} days. How many must it sell each day?",
            "How many {food} a day have to be picked in the last {d} days, if {a} have to be picked in total and {b} "
            "a day were picked for {c} days?",
            "{name} wants to write {a} letters. {He} has already written {b} letters a day for {c} days, and there "
            "are {d} days left. How many letters must {he} write on each of these days?",
            "Out of {a} {item}, a factory made {b} in each of the first {c} days. It has {d} more days for the "
            "others. What number has to be made per day from now on?",
        ),
    ),
    Template(
        "difference-of-stocks",
        "a:big b:small c:mid d:small e:small",
        "multiply a b; multiply c d; subtract #1 #2; divide #3 e",
        (
            "A store has {a} boxes of {b} {item}. It sends away {c} bags of {d} {item}. The rest is shared equally "
            "among {e} shops. How many {item} does each shop get?",
            "{name} owns {a} baskets with {b} {food} each. From these {he} fills {c} bags with {d} {food} each. What "
            "is left goes evenly to {e} families. How many {food} does each family get?",
            "From {a} rows of {b} trees, {c} rows of {d} trees were cut. The trees that are left belong to {e} "
            "owners in equal parts. How many trees does each owner have?",
            "How many pages are there for each of {e} children, if {a} books of {b} pages are shared evenly after "
            "{c} books of {d} pages have been taken out?",
            "A factory packs {b} {item} into each of {a} boxes. {c} times a buyer comes and takes {d} {item}. {e} "
            "trucks take equal parts of the others. How many {item} are on one truck?",
            "{c} visitors each took {d} {item} from a store of {a} boxes with {b} {item} in each. {name} put what "
            "was left on {e} tables, the same number on each. How many {item} are on one table?",
        ),
    ),
    Template(
        "weeks-of-output",
        "a:big b:small c:mid",
        "multiply a 7; multiply #1 b; subtract #2 c",
        (
            "A factory makes {a} {item} every day of the week. After {b} weeks, {c} of them turn out to be broken. "
            "How many good {item} are there?",
            "Every day {name} collects {a} eggs. {He} does so for {b} weeks and gives {c} eggs to {his} {kin}. How "
            "many eggs does {he} have left?",
            "{a} people visit the {place} each day. In {b} weeks, {c} of the visitors did not pay. How many paid?",
            "How many {food} are left, if {a} are picked a day for {b} weeks without a day off and {c} of them are "
            "eaten?",
            "A machine prints {a} pages daily. It runs for {b} full weeks, but {c} pages are lost. How many pages "
            "can be used?",
            "For {b} weeks, {name} saved ${a} each day, and then spent ${c}. What remained of the money?",
        ),
    ),
)
