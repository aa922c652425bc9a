"""Templates of distances, times, areas and amounts."""

from __future__ import annotations

from envs.gsm_hard.templates import Template

TEMPLATES: tuple[Template, ...] = (
    Template(
        "same-speed",
        "a:big b:small c:mid",
        "divide a b; multiply #1 c",
        (
            "A train goes {a} kilometers in {b} hours. How far does it go in {c} hours at the same speed?",
            "{name} can pack {a} {item} in {b} days. How many can {he} pack in {c} days if {he} keeps working like "
            "that?",
            "In {b} hours a machine makes {a} {item}. How many {item} does it make in {c} hours?",
            "How many liters of water run out in {c} minutes, if {a} liters run out in {b} minutes?",
            "The {animal} of {name} eat {a} kilograms of grain in {b} weeks[, and there are {x} of them|]. At that "
            "rate, how many kilograms do they eat in {c} weeks?",
            "If {b} boxes hold {a} {item}, what number of {item} do {c} such boxes hold?",
        ),
    ),
    Template(
        "tank",
        "a:big b:small c:dec",
        "subtract b c; divide a #1; divide #2 60",
        (
            "A tank holds {a} liters. Every minute {b} liters run in and {c} liters run out. How many hours does it "
            "take to fill the empty tank?",
            "{b} liters of water a minute flow into an empty pool of {a} liters, but {c} liters a minute are lost. "
            "After how many hours is the pool full?",
            "How many hours does {name} need to fill a tank of {a} liters, if {b} liters come in and {c} liters leak "
            "out every minute?",
            "Each minute a factory makes {b} kilograms of paper and uses {c} kilograms of it. In how many hours does "
            "it have {a} kilograms in store, if it starts with nothing?",
            "A pool leaks {c} liters a minute. {name} fills it with {b} liters a minute. It is empty now and holds "
            "{a} liters. How many hours will it take?",
            "Into an empty tank flow {b} liters a minute, out of it {c}. What is the time in hours until {a} liters "
            "are in it?",
        ),
    ),
    Template(
        "fence",
        "a:side b:side c:price",
        "add a b; multiply #1 2; multiply #2 c",
        (
            "{name} puts a fence around a field that is {a} meters long and {b} meters wide. One meter of fence "
            "costs ${c}. What does the whole fence cost?",
            "A field has a length of {a} meters and a width of {b} meters. What does it cost to put a fence around "
            "it at ${c} a meter?",
            "Fence is sold at ${c} a meter. How much must {name} pay for a fence around a garden of {a} meters by "
            "{b} meters?",
            "How many dollars does a wall around a garden cost, if the garden is {b} meters wide and {a} meters long "
            "and each meter of wall costs ${c}?",
            "The {place} stands on land that is {a} meters long and {b} meters wide. All around it a fence is built "
            "for ${c} a meter. What is the price?",
            "All four sides of a yard get a fence. The yard is {a} meters by {b} meters[, with {x} trees in it|], "
            "and a meter of fence is ${c}. What must be paid?",
        ),
        held_out=True,
    ),
    Template(
        "fuel",
        "a:big b:dec c:price d:mid",
        "multiply a b; divide #1 100; multiply #2 c; add #3 d",
        (
            "A truck drives {a} kilometers and needs {b} liters of fuel per hundred kilometers. A liter costs ${c}. "
            "The driver also pays ${d} for the roads. What does the trip cost in total?",
            "{name} drove {a} kilometers. The car takes {b} liters for every hundred kilometers, and fuel is ${c} a "
            "liter. Together with a hotel for ${d}, how much did {name} spend?",
            "Fuel costs ${c} a liter. How many dollars does a trip of {a} kilometers cost with a bus that needs {b} "
            "liters per hundred kilometers, if ${d} must be paid for parking as well?",
            "For every hundred kilometers a ship burns {b} liters at ${c} a liter. It goes {a} kilometers and pays "
            "${d} at the harbour. What are the total costs?",
            "The trip of {name} was {a} kilometers long. {He} paid ${d} for meals and ${c} for each liter of fuel. "
            "The car used {b} liters per hundred kilometers. What did {he} pay altogether?",
            "What does {name} pay in total for meals of ${d} and the fuel for {a} kilometers, when the truck uses "
            "{b} liters on a hundred kilometers and a liter costs ${c}?",
        ),
        held_out=True,
    ),
    Template(
        "two-machines",
        "a:big b:small c:mid d:small e:few",
        "multiply a b; multiply c d; add #1 #2; divide #3 e",
        (
            "One machine makes {a} {item} an hour and runs for {b} hours. Another makes {c} {item} an hour and runs "
            "for {d} hours. All {item} are packed in boxes of {e}. How many boxes are filled?",
            "{name} picks {a} {food} a day for {b} days. {name2} picks {c} {food} a day for {d} days. They pack {e} "
            "{food} into each bag. How many bags do they fill [together|in all]?",
            "A {place} got {a} boxes with {b} books each and {c} boxes with {d} books each. It puts {e} books on "
            "each shelf. How many shelves does it need?",
            "How many tables are needed for the guests of {a} buses with {b} people each and {c} cars with {d} "
            "people each, if {e} people sit at one table?",
            "In the north there are {a} rows of {b} trees, in the south there are {c} rows of {d} trees. {name} "
            "waters {e} trees a minute. How many minutes does it take to water all the trees?",
            "A truck carries {a} bags of {b} kilograms, a ship carries {c} bags of {d} kilograms. Everything is "
            "shared evenly by {e} towns. How many kilograms does each town get?",
        ),
    ),
    Template(
        "harvest",
        "a:mid b:mid c:dec d:mid e:small",
        "multiply a b; multiply #1 c; subtract #2 d; divide #3 e",
        (
            "A garden has {a} rows of {b} trees. Each tree gives {c} kilograms of {food}. {d} kilograms are bad. The "
            "rest is put into bags of {e} kilograms. How many bags are there?",
            "{name} has {a} fields with {b} {animal} each. Each of the {animal} eats {c} kilograms a day. {name} "
            "already has {d} kilograms and buys what is missing for one day in bags of {e} kilograms. How many bags "
            "does {he} buy?",
            "From each of {b} trees in each of {a} rows {c} kilograms of {food} are picked. After {d} kilograms have "
            "been eaten, {e} families share the rest equally. How many kilograms does each family get?",
            "In {a} streets there are {b} houses each, and each house uses {c} liters of water an hour. {d} liters "
            "an hour come from rain, all other water from {e} wells in equal parts. How many liters an hour come "
            "from each well?",
            "How many trucks of {e} tons are needed for the stone from {a} days, if each day {b} carts bring {c} "
            "tons each, and {d} tons of it are used up first?",
            "{a} teams with {b} workers made {c} meters of rope per worker. {d} meters were sold, and what was left "
            "was cut into {e} equal parts. How many meters long is each part?",
        ),
    ),
    Template(
        "recipe",
        "a:mid b:few c:big d:price",
        "divide a b; multiply #1 c; divide #2 1000; multiply #3 d",
        (
            "A soup for {b} people needs {a} grams of {food}. {name} cooks it for {c} people. A kilogram of {food} "
            "costs ${d}. What do the {food} cost?",
            "{b} {animal} eat {a} grams of grain a day. A kilogram of grain costs ${d}. What does the grain for {c} "
            "{animal} cost for one day?",
            "For {b} {item} one needs {a} grams of wax. How much must be paid for the wax for {c} {item}, if a "
            "kilogram of wax is ${d}?",
            "At ${d} a kilogram, what does {name} pay for the sugar in {c} cakes, if there are {a} grams of sugar in "
            "{b} cakes?",
            "Paint is ${d} a kilogram. {name} used {a} grams for {b} {item}[ on {x} days|] and now wants to paint "
            "{c} {item}. What does the paint for the new {item} cost?",
            "What is the price of the flour for {c} cakes at ${d} per kilogram, when {a} grams are enough for {b} "
            "cakes?",
        ),
    ),
    Template(
        "two-fields",
        "a:side b:side c:side d:side e:dec f:mid",
        "multiply a b; multiply c d; add #1 #2; multiply #3 e; subtract #4 f",
        (
            "One field is {a} meters by {b} meters, another is {c} meters by {d} meters. Each square meter gives {e} "
            "kilograms of {food}. {name} keeps {f} kilograms and sells the rest. How many kilograms does {he} sell?",
            "{name} has two fields. The first is {a} meters long and {b} meters wide, the second is {c} meters long "
            "and {d} meters wide. A square meter costs ${e} a year, and the state pays ${f} of the yearly sum. How "
            "much does {name} pay a year?",
            "A floor of {a} by {b} meters and a floor of {c} by {d} meters are painted. A square meter takes {e} "
            "grams of paint, and {f} grams are there already. How many grams must be bought?",
            "How many liters of water has {name} to bring for two gardens of {a} by {b} meters and {c} by {d} "
            "meters, if each square meter needs {e} liters and {f} liters come from rain?",
            "Two walls are covered with tiles at ${e} a square meter. One is {a} meters by {b} meters, the other {c} "
            "meters by {d} meters. {name} gets ${f} off the bill. What does {he} pay?",
            "On each square meter of two pieces of land grow {e} kilograms of grain. The pieces measure {a} by {b} "
            "meters and {c} by {d} meters. When {f} kilograms have been eaten by {animal}, how many kilograms are "
            "left?",
        ),
    ),
    Template(
        "painting",
        "a:side b:side c:dec d:small e:few",
        "add a b; multiply #1 2; multiply #2 c; subtract #3 d; divide #4 e",
        (
            "A hall is {a} meters long, {b} meters wide and {c} meters high. The windows and doors take {d} square "
            "meters of its four walls. A liter of paint covers {e} square meters. How many liters are needed for the "
            "walls?",
            "{name} paints the four walls of a room of {a} by {b} meters that is {c} meters high. {d} square meters "
            "are windows. {He} paints {e} square meters an hour. How many hours does it take?",
            "The four walls of the {place} are {c} meters high, and it is {a} meters long and {b} meters wide. Apart "
            "from {d} square meters of windows the walls are covered with paper, {e} square meters from each roll. "
            "How many rolls are used?",
            "How many days does it take to clean the four walls of a hall at {e} square meters a day, if it is {a} "
            "meters long, {b} meters wide and {c} meters high and {d} square meters of the walls are doors that stay "
            "as they are?",
            "The walls of a box shaped hall have a height of {c} meters. Its length is {a} meters and its width is "
            "{b} meters. {d} square meters are glass, and the rest of the four walls is shared evenly by {e} "
            "painters. How many square meters does each painter have?",
            "Without the {d} square meters of its doors, the four walls of a yard that is {a} meters long and {b} "
            "meters wide, with walls of {c} meters height, get new tiles. A box of tiles covers {e} square meters. "
            "What number of boxes is that?",
        ),
    ),
    Template(
        "two-teams",
        "a:mid b:small c:small d:mid e:small f:few",
        "multiply a b; multiply #1 c; multiply d e; subtract #2 #3; divide #4 f",
        (
            "A team of {a} workers made {b} {item} each per hour for {c} hours. Of these, {d} buyers took {e} {item} "
            "each. The rest was shared equally by {f} shops. How many {item} did each shop get?",
            "In {a} halls there are {b} rows with {c} chairs each. {d} visitors bring {e} friends each, and every "
            "friend takes one chair. The free chairs are taken home by {f} owners in equal parts. How many chairs "
            "does each owner take?",
            "{name} has {a} boxes with {b} bags of {c} {food} each. {He} sells {d} baskets of {e} {food} and shares "
            "the rest evenly among {f} friends. How many {food} does each friend get?",
            "How many books are there for each of {f} schools, if {a} rooms with {b} shelves of {c} books are shared "
            "evenly after {d} boxes of {e} books have been sold?",
            "{d} trucks take away {e} tons of stone each. Before that, {a} ships had each brought {b} loads of {c} "
            "tons. {f} towns share what is left in equal parts. How many tons does each town get?",
            "{a} villages have {b} streets of {c} houses each. {d} teams have cleaned {e} houses each. All other "
            "houses are to be cleaned in {f} days. How many houses a day is that?",
        ),
        held_out=True,
    ),
    Template(
        "year-of-use",
        "a:dec b:big c:price",
        "multiply a b; multiply #1 365; multiply #2 c",
        (
            "In a town, each of {b} people uses {a} liters of water a day. A liter costs ${c}. What does the water "
            "of the town cost in a year?",
            "{name} has {b} {animal}, and each eats {a} kilograms of grain a day. A kilogram of grain costs ${c}. "
            "What does {he} pay for the grain in a year?",
            "How many dollars does a factory spend in a year, if it makes {b} {item} every day and uses {a} grams of "
            "gold at ${c} a gram for each?",
            "At ${c} a kilogram, what do {b} families pay together for bread in a year, if every family eats {a} "
            "kilograms a day?",
            "Every day of the year {b} cars drive through the {place}, each burns {a} liters of fuel there, and a "
            "liter is ${c}. What is the cost of this fuel over a year?",
            "A liter of milk costs ${c}. The {b} pupils of a city drink {a} liters each on every day. What does "
            "their milk cost in a whole year?",
        ),
    ),
)
