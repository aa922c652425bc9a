"""Templates of buying, selling, wages and taxes."""

from __future__ import annotations

from envs.gsm_hard.templates import Template

TEMPLATES: tuple[Template, ...] = (
    Template(
        "sell-the-rest",
        "a:big b:mid c:price",
        "subtract a b; multiply #1 c",
        (
            "{name} had {a} {item}. {He} [gave away|lost] {b} of them and sold [the rest|all the others] at ${c} "
            "each. How much money did {name} [get|make] from the sale?",
            "Of {a} {item}, {b} were broken. {name} sold [the others|the rest] for ${c} apiece. How many dollars did "
            "{he} get [in total|altogether]?",
            "[At|In] the {place}, one of the {item} costs ${c}. {name} brought {a} of them, kept {b} for {his} {kin} "
            "and sold every other one. What was the income?",
            "How much money does {name} make by selling {item} at ${c} each, if {he} has {a} of them and keeps {b}?",
            "A box holds {a} {item}. After {b} are taken out, what is left is sold at ${c} each. What does the sale "
            "bring in, in dollars?",
            "{b} out of {a} {item} were stolen from {name}. All that were left found buyers, who paid ${c} for each. "
            "What did the buyers pay in total?",
        ),
    ),
    Template(
        "dozens",
        "a:big b:price",
        "multiply a 12; multiply #1 b",
        (
            "{name} buys {a} dozen {food} at ${b} per piece. How much does {he} pay [in total|altogether]?",
            "One of the {item} costs ${b}. What do {a} dozen of them cost?",
            "The {place} ordered {a} dozen {item}[ and {x} plates|]. If every one of the {item} costs ${b}, what "
            "must be paid for the {item}?",
            "How many dollars does {name} get for {a} dozen {food}, if they are sold at ${b} per piece?",
            "The {food} come by the dozen. {name} sold {a} dozen and got ${b} for each of the {food}. How much money "
            "did {he} make?",
            "At a price of ${b} per piece, what is the value of {a} dozen {item} in dollars?",
        ),
        held_out=True,
    ),
    Template(
        "two-sales",
        "a:big b:price c:mid d:price",
        "multiply a b; multiply c d; add #1 #2",
        (
            "{name} sold {a} {item} at ${b} each and {c} {item2} at ${d} each. How much money did {he} [make|get] in "
            "all?",
            "A shop at the {place} sells {item} for ${b} and {item2} for ${d}[ apiece|]. [Today|Yesterday] it sold "
            "{a} {item} and {c} {item2}. What was the total income?",
            "{name} wants {a} {item}, which cost ${b} each. {He} also wants {c} {item2} at ${d} apiece. What does "
            "{he} have to pay altogether?",
            "How much do {a} {food} at ${b} each and {c} {item} at ${d} each cost together?",
            "The {item} are ${b} each, the {item2} are ${d} each. {name} took {a} of the first and {c} of the "
            "second[, and left the shop after {x} minutes|]. How many dollars did {he} pay?",
            "What is the bill for a {place} that orders {a} {item} at ${b} apiece as well as {c} {item2} at ${d} "
            "apiece?",
        ),
    ),
    Template(
        "discount",
        "a:big b:price c:pct",
        "multiply a b; multiply #1 c; divide #2 100; subtract #1 #3",
        (
            "{name} orders {a} {item} at ${b} each and gets a discount of {c}%. How much does {he} pay?",
            "The price of {item} is ${b} each. Because the {place} buys {a} of them, it gets {c}% off the total. "
            "What does it pay in the end?",
            "With a discount of {c}% on the whole order, what does {name} pay for {a} {item} that [normally|] cost "
            "${b} each?",
            "A shop takes {c}% off all orders today. {name} chose {a} {item} at ${b} apiece[ after looking at {y} "
            "others|]. How many dollars does {he} pay after the discount?",
            "{a} {item} were ordered at ${b} each. The seller gave a discount of {c}% on the bill. How large was the "
            "bill then?",
            "Each of the {a} {item} costs ${b}, but {name} has a card that takes {c}% off the sum. What must {he} "
            "still pay?",
        ),
    ),
    Template(
        "partners",
        "a:big b:price c:cost d:few",
        "multiply a b; subtract #1 c; divide #2 d",
        (
            "{d} friends sold {a} {item} at ${b} each. They had to pay ${c} for the material and shared the rest "
            "equally. How much did each friend get?",
            "A group sells {a} {item} for ${b} apiece. After costs of ${c}, the money is shared equally among the "
            "{d} members. What does each member get?",
            "The costs of a shop were ${c}. It sold {a} {item} at ${b} each. The profit is split evenly between {d} "
            "owners. How many dollars does one owner get?",
            "How much profit does each of {d} partners make, if together they sell {a} {item} at ${b} each, pay ${c} "
            "in costs and share evenly?",
            "{name} and {his} partners are {d} people in all. Their income is ${b} for each of {a} {item}, their "
            "costs are ${c}. They divide the profit evenly. What is one share?",
            "To make {a} {item}, a team of {d} spent ${c}. Every one of them was sold for ${b}, and each person in "
            "the team took the same part of the profit. How large was this part in dollars?",
        ),
    ),
    Template(
        "wage-after-tax",
        "a:mid b:price c:pct d:cost",
        "multiply a b; multiply #1 c; divide #2 100; subtract #1 #3; add #4 d",
        (
            "{name} worked {a} hours at ${b} an hour. {c}% of {his} wage went to taxes. Then {he} got a bonus of "
            "${d}, free of tax. How much did {name} have in total?",
            "At the {place} {name} gets ${b} an hour. [This year|Last year] {he} worked {a} hours. After paying {c}% "
            "of the wage in taxes, {he} also got ${d} from {his} {kin}. How many dollars was that altogether?",
            "Besides ${d} from {his} {kin}, {name} has the wage for {a} hours of work at ${b} an hour, from which "
            "{c}% is taken for taxes. What do the wage after taxes and the money from the {kin} come to?",
            "What is the total of a bonus of ${d} and the wage for {a} hours at ${b} an hour, if {c}% of the wage is "
            "taken away as tax?",
            "Taxes are {c}% of the wage. {name} worked for {a} hours[ in {x} weeks|] and the wage is ${b} an hour. "
            "To what is left {he} adds ${d} of savings. How much money does {he} have now?",
            "An hour of work pays ${b}, and {name} did {a} hours. The state keeps {c}% of that. With {his} savings "
            "of ${d} added, what does {he} own?",
        ),
    ),
    Template(
        "salary-years",
        "a:cost b:cost c:few",
        "multiply a 12; subtract #1 b; multiply #2 c",
        (
            "{name} earns ${a} a month and spends ${b} a year. How much does {he} save in {c} years?",
            "Every month {name} gets ${a}. In a year {he} spends ${b} of it. What are {his} savings after {c} years?",
            "Over {c} years {name} saved all that was left from {his} salary of ${a} a month after spending ${b} "
            "each year. How much did {he} save in all?",
            "How many dollars can {name} save in {c} years, if the salary is ${a} a month and {his} spending is ${b} "
            "a year?",
            "A family spends ${b} a year and earns ${a} a month. [They have {x} relatives. |]What will they have "
            "saved after {c} years?",
            "In each of {c} years {name} was paid ${a} every month. {He} used ${b} per year and put away all the "
            "other money. What sum did {he} put away?",
        ),
    ),
    Template(
        "three-bills",
        "a:big b:price c:mid d:price e:small f:price",
        "multiply a b; multiply c d; add #1 #2; multiply e f; add #3 #4",
        (
            "{name} buys {a} {item} at ${b} each, {c} {item2} at ${d} each and {e} {food} at ${f} each. How much "
            "does {he} pay [in total|altogether]?",
            "A {place} needs {a} {item} for ${b} apiece, {c} {item2} for ${d} apiece and {e} {item3} for ${f} "
            "apiece. What does everything cost together?",
            "One of the {item} costs ${b}, one of the {item2} ${d} and one of the {food} ${f}. What is the price of "
            "{a} {item}, {c} {item2} and {e} {food} in all?",
            "Last week a shop sold {a} {item} for ${b} each. It also sold {c} {item2} for ${d} each, and at last {e} "
            "{item3} for ${f} each. How much money did it make?",
            "How many dollars did {name} get for {a} {food} at ${b}, {c} {food2} at ${d} and {e} {food3} at ${f} "
            "apiece?",
            "On the list of {name} are {a} {item} (${b} each), then {c} {food} (${d} each) and then {e} {animal} "
            "(${f} each). What is the sum of all costs?",
        ),
    ),
    Template(
        "members",
        "a:mid b:price c:mid d:few e:cost",
        "multiply a b; subtract #1 c; multiply #2 12; multiply #3 d; add #4 e",
        (
            "A club has {a} members, who pay ${b} a month each. Its rent is ${c} a month. It starts with ${e}. How "
            "much money will it have after {d} years?",
            "Each of the {a} members of a club pays ${b} every month, and the club spends ${c} every month. With "
            "${e} in the bank now, what will be in the bank in {d} years?",
            "The bank account of a club holds ${e}. Month by month {a} members pay ${b} each and ${c} is spent. What "
            "does the account hold after {d} years?",
            "How much will a club own after {d} years, if it owns ${e} today, has {a} members at ${b} a month and "
            "monthly costs of ${c}?",
            "{name} leads a club that spends ${c} a month. {a} people are members, and each pays ${b} a month. What "
            "do {d} years of this bring, together with the ${e} that the club already has?",
            "For {d} years, {a} people paid ${b} a month each to a club with costs of ${c} a month. At the start it "
            "had ${e}. What did it have at the end?",
        ),
    ),
    Template(
        "resell",
        "a:big b:price c:price d:mid",
        "subtract c b; multiply #1 a; subtract #2 d",
        (
            "{name} buys {a} {item} at ${b} each and sells all of them at ${c} each. The stall costs {him} ${d}. "
            "What is the profit?",
            "A shop buys {item} for ${b} apiece and sells them for ${c} apiece. It sold {a} of them and paid ${d} in "
            "rent. How many dollars of profit did it make?",
            "After paying ${d} for a stall, how much profit is left from {a} {food} that were bought at ${b} each "
            "and sold at ${c} each?",
            "The {place} lets {name} use a stall for ${d}. There {he} sells {a} {item} at ${c} each, for which {he} "
            "had paid ${b} each. How much did {name} gain?",
            "Each of {a} {item} was bought for ${b} and sold for ${c}. Bringing them to the {place} cost ${d} in "
            "total. What gain was left?",
            "{name} paid ${b} for each of the {item} and found buyers at ${c} for each. There were {a} {item} in "
            "all, and one tax of ${d}. What did {he} earn?",
        ),
        held_out=True,
    ),
)
