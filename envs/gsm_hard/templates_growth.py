"""Templates with powers and factorials."""

from __future__ import annotations

from envs.gsm_hard.templates import Template

TEMPLATES: tuple[Template, ...] = (
    Template(
        "doubling",
        "a:mid b:deck",
        "power 2 b; multiply a #1",
        (
            "There are {a} cells in a glass. Their number doubles every hour. How many cells are there after {b} "
            "hours?",
            "{name} has ${a}. Every year the money doubles. How much money does {name} have after {b} years?",
            "A town of {a} people doubles its number of people each year. How many people does it have after {b} "
            "years?",
            "If the number of {animal} on an island doubles each year, and there are {a} {animal} today, how many "
            "are there in {b} years?",
            "Today {a} people know a song. Each day twice as many know it as on the day before. How many know it "
            "after {b} days?",
            "The {food} on a farm become twice as many every summer. It had {a} of them at first. How many {food} "
            "does the farm have after {b} summers?",
        ),
    ),
    Template(
        "cubes",
        "a:side b:price",
        "power a 3; multiply #1 b",
        (
            "A tank is a cube with sides of {a} meters. What does it cost to fill it at ${b} per cubic meter?",
            "{name} fills a cube with sand. Each side of the cube is {a} meters long, and a cubic meter of sand "
            "costs ${b}. How much does the sand cost?",
            "Ice costs ${b} per cubic meter. What is the price of a cube of ice with a side of {a} meters?",
            "How many dollars is a cube of stone worth at ${b} a cubic meter, if its sides are {a} meters long?",
            "A hall has the form of a cube with a side of {a} meters. To heat a cubic meter costs ${b}. What does it "
            "cost to heat the hall?",
            "What must be paid for the water in a full pool that is {a} meters long and just as wide and deep, at "
            "${b} a cubic meter?",
        ),
    ),
    Template(
        "interest",
        "a:cost b:growth c:deck",
        "power b c; multiply a #1; subtract #2 a",
        (
            "{name} puts ${a} into a bank. Every year the money grows to {b} times what it was. How much has it "
            "gained after {c} years?",
            "A house is worth ${a}. Each year it is worth {b} times as much as the year before. By how many dollars "
            "has its value grown after {c} years?",
            "The savings of {name} are ${a} and grow to {b} times their size in each year. What is the gain over {c} "
            "years?",
            "How much more than ${a} does {name} own after {c} years, if {his} money becomes {b} times as much every "
            "year?",
            "A shop sold {item} for ${a} this year. It wants to sell {b} times as much each year as in the year "
            "before. By how many dollars will the sales of a year have grown in {c} years?",
            "In each of {c} years the value of some land was multiplied by {b}. It was worth ${a} before that. How "
            "much value was added?",
        ),
    ),
    Template(
        "orders",
        "a:deck b:price",
        "factorial a; multiply #1 b; divide #2 60",
        (
            "{name} wants to put {a} different {item} in a row in every possible order. One order takes {b} minutes. "
            "How many hours does it take to try all orders?",
            "{a} children stand in a row. They want to try every order in which they can stand, and each takes {b} "
            "minutes. How many hours do they need?",
            "How many hours does a machine need to print all possible orders of {a} different words, if it prints "
            "one order in {b} minutes?",
            "A show lets {a} {animal} walk in one row. Every possible order is shown once, for {b} minutes. What is "
            "the time of the show in hours?",
            "All orders of {a} different books on a shelf are tried. At {b} minutes for each order, how many hours "
            "is that?",
            "To write down one order of {a} names takes {name} {b} minutes. {He} writes down all orders that are "
            "possible. After how many hours is {he} done?",
        ),
    ),
    Template(
        "locks",
        "a:small b:few c:dec",
        "power a b; multiply #1 c; divide #2 60",
        (
            "A lock has {b} rings with {a} signs on each. To try one setting of all rings takes {c} seconds. How "
            "many minutes does it take to try all settings?",
            "A secret word has {b} signs, and each sign is one of {a}. {name} tries all words that are possible at "
            "{c} seconds a word. How many minutes does {he} need?",
            "How many minutes does a machine need to print every card with {b} places, if each place shows one of "
            "{a} pictures and a card takes {c} seconds?",
            "Each of {b} doors can be painted in one of {a} colors. {name} draws every possible way of painting the "
            "doors, and needs {c} seconds for each. How many minutes does that take?",
            "There are {a} signs on every ring of a lock with {b} rings. Trying a setting of the rings takes {name} "
            "{c} seconds. How many minutes are needed for all of them?",
            "A printer takes {c} seconds for a word. It prints every possible word of {b} signs, where each sign can "
            "be any of {a}. What is the time for all words in minutes?",
        ),
    ),
    Template(
        "two-shelves",
        "a:few b:few c:price d:mid",
        "factorial a; factorial b; multiply #1 #2; multiply #3 c; add #4 d",
        (
            "There are {a} different books for the upper shelf and {b} different books for the lower shelf. {name} "
            "makes a photo of every possible way to order both shelves. A photo costs ${c}, and the camera costs "
            "${d}. What does it cost in total?",
            "In a show, {a} {animal} walk in one row and {b} {animal2} in another. Every possible order of both rows "
            "together is shown once for ${c}. The hall costs ${d}. How much must be paid in all?",
            "{name} paints a picture of every way in which {a} different {item} in a first row and {b} different "
            "{item2} in a second row can be ordered. The paint for a picture costs ${c}, and {he} paid ${d} for "
            "brushes. What did {he} pay altogether?",
            "What does it cost to print all ways to order {a} women in one row and {b} men in another, if each way "
            "costs ${c} and there is a fee of ${d} for the whole print?",
            "A fee of ${d} and ${c} for each list must be paid. A list has {a} different names in some order at the "
            "top and {b} other names in some order below them. Every possible list is made. What is the price?",
            "A card shows {a} different stars in a row and below that {b} different animals in a row, and there is "
            "one card for each possible order of both. A card costs ${c}. With ${d} for the box, how much are all "
            "the cards?",
        ),
    ),
    Template(
        "square-tiles",
        "a:side b:price c:mid",
        "power a 2; multiply #1 b; add #2 c",
        (
            "A square yard has sides of {a} meters. Tiles cost ${b} per square meter, and the workers get ${c}. What "
            "does the new floor of the yard cost?",
            "{name} buys a square field with a side of {a} meters at ${b} a square meter and pays ${c} in fees. How "
            "much is that in total?",
            "How much must be paid for a square rug with sides of {a} meters at ${b} a square meter, if bringing it "
            "costs ${c}?",
            "Grass for a square garden costs ${b} per square meter. Each side of the garden is {a} meters long. "
            "Together with ${c} for the water, what does it cost?",
            "The floor of a hall is a square with sides of {a} meters. To paint a square meter costs ${b}. There is "
            "also a bill of ${c} for cleaning. What is the sum of both costs?",
            "What are the total costs of a square roof of {a} meters on each side at ${b} per square meter, with "
            "${c} more for the nails?",
        ),
        held_out=True,
    ),
)
