/// The words of pairing codes. They are chosen to be unambiguous when read aloud, heard and typed.
enum RelayWords {
  /// The sorted words. Each has 4 to 8 lower-case letters.
  ///
  /// No two words differ by only one letter (changed, omitted or added). No word sounds like
  /// another common word, and none is rude.
  static let all: [String] = text.split(whereSeparator: \.isWhitespace).map(String.init)

  private static let text = """
    abacus abbey ability absolute absorb abstract acacia academic academy account acorn acoustic
    acre acrobat active actor adapter address adhesive adjacent admiral admire adobe adopt adult
    advance adverb advice aerial aerobic affair afford agency agenda agile airbag airline airport
    airship alarm album alcove alder algae algebra alias alibi alliance alloy almanac almost aloe
    alpaca alphabet alpine altitude always amateur amazing amber ambition ambush amethyst amigo
    amount ampere amplify amulet anagram anatomy ancestor anchor android angle animal anise annual
    anteater antenna anthem antique antler anvil anybody apology apparel appetite applause apple
    apricot april apron aquarium aquatic aqueduct arbiter arcade archery archive archway arctic
    ardent arena argument armchair armrest aroma arrival arrow artifact artist ascend aspect aspen
    asphalt aspirin assembly asset asteroid astonish athlete athletic atlas atom atrium attach
    attic attire auburn auction audible audience august aurora author autumn avenue average aviator
    avid avocado award awning axiom axle baboon bachelor backbone backpack backyard bacon badger
    bagel bagpipe bakery balance balcony balloon balmy bamboo banana bandage banjo banner banquet
    barber barefoot bargain barista barley barn barnacle barracks basalt baseball basement basic
    basket bassoon bathrobe bathtub battery bayou bearing beatnik become bedrock bedroom beehive
    beeline beetle begonia behold belfry belief bellboy belly beluga bench benefit beverage beyond
    bicycle bifocal bigfoot billiard binder biology bionic birch birthday biscuit bishop bison
    bistro blanket blazer blender blimp blizzard blogger blossom blouse bluff blurb bobcat bohemian
    bolster bonfire bonnet bonus bookcase bookend bookworm borrow botany bottle bounty bouquet
    boutique bowler bowling boxcar bracelet bracket braid bramble branch bravery bravo breadbox
    breeze brewery bridge brigade bright brindle brisket bristle broccoli brochure bronze brooch
    broom brother bubble bucket buckle bucolic budget buffalo buffet bugle builder bulb bulletin
    bullfrog bumper bundle bungalow bunker burger burlap burrito bushel busy butcher butler button
    buttress buzzer bygone byway cabbage cabin cabinet cable cactus caffeine calcium calico calorie
    calypso camel camera campfire campsite campus canal canary candid candle candy canine canoe
    canopy canteen canyon capable capsule captain caption carafe caravan caraway carbon cardinal
    careful caress cargo caribou carnival carpet carriage cartoon carver cascade cashew castle
    casual catalyst catapult catfish catnip cavalry cavern caviar cedar celery cement central
    century ceramic ceremony certain cerulean chairman chalet chamber chamois champion chandler
    channel chapel chaplain chapter charade charcoal chariot charisma charity charming chateau
    cheddar cheerful cheese cheetah chemist chenille cherry cherub chess chestnut chevron chicken
    chicory chiffon chimney chimp chino chipmunk chisel chive chopper chortle chorus chowder chrome
    cilantro cinema cinnamon circle circuit circus citadel citizen citrus city clarify clarinet
    classic clavicle clay clerk client cliff climate clinic clipper cloak cloister closet clothing
    cloud clover cluster coach coastal coaster cobalt cobbler cobra coconut coddle codfish coffee
    cohort coin coleslaw collar college collie combine comedy comet comfort comical common compact
    compass complex composer computer comrade conceal concept conclude concrete condor cone
    confetti confirm congress conifer connect consider contest contour contract convoy cookie
    copilot copycat cordial corduroy cork corner cornmeal corona corral corridor corsage cosmic
    cosmos costume cottage cotton cougar country couple courage courier covert cowbell cowboy
    cowhide coyote crackle cradle crater crawfish crayon cream create creature credit crepe
    crescent crevice cribbage cricket crimson crispy critic crochet crocus croquet cross crossbow
    crouton crowbar crowd crucial crumb crutch crystal cube cuckoo cucumber cufflink culinary
    culture cupboard cupcake curator curfew curious curry cursive curve cushion custard custom
    cutlass cutlery cycle cyclone cylinder daffodil dainty daisy damask damsel dancer daring
    dashing data daughter dawn daybreak daylight dazzle deacon dealer debate debonair decade
    december decibel decimal declare decorate decoy dedicate deed deepen definite degree delta
    deluxe denim denote dentist depict deputy derby descend design desire desktop detail detect
    develop device dewdrop diagonal diagram diamond digital dignity diligent dinner dinosaur
    diorama diploma director disco discount discover disguise dishes dispatch display disposal
    distance distill ditto diver diverse dividend dividing docile dockyard doctor document dogwood
    dolphin domain domino donate donkey doorbell doorway dormouse double downhill downtown dozen
    dragon drama drapery drawer dresser drifter drizzle drummer dryer duchess duckling dugout
    dulcimer dumpling dungeon duplex durable duster dusty dwarf dwelling dynamic dynamo eagle
    earlobe earmuff earnest earring earth earthen easel easily eastern eatery ebony echo eclair
    eclipse ecology economy edible edify editor educator effort eggplant egret eight eighteen elbow
    eldest election elegant elegy element elephant elevator elite eloquent elusive embargo embark
    emblem embrace emerald emerge eminent emissary emotion emperor empire emporium empower enable
    enamel enchant encore endeavor endless energy enforce engine engrave enhance enigma enjoy
    enlarge enough enrich ensemble entire entrance envelope enzyme epic epilogue episode equal
    equator eraser erosion errand escape escort espresso essay estate esteem estimate etching
    eternal ethics euphoria evening event evidence evolve exact example exceed exchange execute
    exercise exhibit exit exotic expanse expert explain explorer express extend extra eyebrow
    eyelash eyelid fabric facade faceted factory faculty fairway faithful fajita falcon fallow
    family famous fancy fanfare fantasy farmer farmland farther fashion fathom faucet fearless
    feather feature february federal federate feline fence fennel fervent festival festoon fiasco
    fiction fiddle field fifteen fifty figure filament filigree fillet filter finale finesse finger
    firefly fireman fireside firm fiscal fishbowl fishing fitness fjord flagpole flagship flaky
    flamingo flannel flashy flask flatbed flavor flaxen fleece flexible flight flint floor floral
    florist flotilla flourish fluid flurry flute foal foghorn folder foliage folklore footage
    football foothill footnote footpath forage forecast forehead foremost forest forever forget
    formula fortress fortune forum forward fossil foundry fountain foxglove foyer fraction fragile
    fragment fragrant frame freckle freebie freedom freezer freight frequent fresco frescoes
    friendly frigate frisbee fritter frog frontier frost frosting frozen frugal fruit fugitive
    fulcrum function furlough furnace furrow fusion futon future fuzzy gadget gaggle gainful galaxy
    gallant gallery gallon galoshes gambit gamma gangway garage garden gargoyle garland garlic
    garment gastric gateway gather gauge gazebo gazelle gazette gear gecko gemstone general
    generate genre genteel gentle geology geometry geranium geyser gherkin gibbon gigantic gimmick
    giraffe girder gizmo glacier gladiola glass gleam glider glimpse glitter global globe glory
    glucose gnome goalie goatee goblet goggles golden goldfish golf gondola goose gopher gospel
    gossip gourmet governor gown graceful graduate graffiti grain grammar granary grand granite
    granola grape gratuity gravel gravity greenery greeting griddle gridlock griffin gritty grocer
    groove grotto ground grouse growth guava guidance guitar gumdrop gumption guppy gusto gutter
    gymnast gyrate habitat hacksaw haddock haiku hairpin halcyon halibut hallway halogen halyard
    hammer hammock hamster handbag handmade handsome happen happy hardware hardwood harmonic
    harmony harness harp harvest hashtag hassle hatchet hawk hayride haystack hazelnut headband
    headline headway health hearty heaven hectare hedgehog helium helmet helpful helpmate herald
    herbal heritage hermit hero herring hexagon hiccup hickory highland highway hiker hillside
    hinge hippo history hoagie hobbit hobby hockey hollow hologram homeland homemade homepage
    homework honest honey honeydew hoodie hoopla hopeful horizon hornet horsefly hospital hotel
    hotline hound huddle humanity humble humidity hummus humpback hundred hunger hungry husband
    husky hustle hyacinth hybrid hydrant hydrogen hyena hyphen hypnotic iceberg icebox icicle icing
    idea identify idiom idyllic igloo ignite iguana illusion image imagine imitate immense immune
    impact imperial implore import impress improve impulse inbound incense inch inchworm include
    income increase index indigo indoor industry infant inferno infinity inform inhale initial
    inkwell inlaid inlet innocent input inscribe insect inside inspire install instant instinct
    insult intact integer intend intercom interest interior intrepid invent invite invoice iodine
    iris iron ironclad isotope issue italic item ivory jackal jacket jackpot jaguar jamboree
    janitor january jargon jasmine jaunty javelin jawbone jaybird jazz jersey jetpack jiffy jigsaw
    jingle jitters jocular jogger jolly jostle journal journey jovial joyful joystick jubilee judge
    juggler juice jukebox julep july jumbo juncture junior juniper jupiter jurist justice jute
    juvenile kaftan kale kangaroo karaoke karate kayak keepsake kelp kerosene kettle keyboard
    keyhole keypad keystone khaki kickoff kidney kilogram kilowatt kimono kindness kinetic kinfolk
    kingdom kinship kiosk kitchen kite kitten kitty kiwi kneecap kneepad knitting knuckle koala
    kumquat lacquer lacrosse ladder ladle lagoon lambda lament laminate lancet landlord landmark
    language lantern lapel laptop larkspur lasagna laser lasso lateral latitude lattice laundry
    laurel lavender lavish lawyer layover leader leaflet league leapfrog learner lectern lecture
    ledger leeward legacy legend legible legume leisure lemon lemonade lemur lengthy lens lentil
    leopard letter lettuce level lexicon liaison liberty library lifeboat lifelong lifetime
    ligament likable likewise lilac lilting limerick limit limpet linear linen linguini lion
    lipstick liquid list literacy lithium lively lizard loafer lobster locker locust lodge lofty
    logic lollipop longhorn lookout loosen lopsided lotion lottery lotus lounge lovebird lowland
    loyalty lozenge lucid lucky luggage lukewarm lullaby lumber luminous lunar lunch lunchbox lush
    luxury lyric macaque macaroni macaw machine madrigal maestro magazine magenta magic magma
    magnet magnify magnolia magpie mahogany maiden mailbox mainland majestic majesty makeup mallard
    mallet mammal mammoth manager manatee mandarin mandolin mango manicure manifold mansion manta
    manual maple maracas marathon marble march margin marigold marina maritime market marmot maroon
    marvel mascot masonry massage mastiff matador matinee matrix matter mattress maverick maximum
    maze meadow mealtime meander measure mechanic mediate medicine medium meerkat megaton melody
    melon member membrane memento memo memory mention mentor menu merchant mercury meringue merit
    mermaid mesquite metallic metaphor method metric midday midnight midpoint midst migrate mileage
    militia milk million mimosa mindful mineral minimum minister minnow minstrel minuet miracle
    mirage mirror mischief mission misty mitosis mixer mixture mobile moccasin mocha model modern
    modest modify module moisture molecule moment momentum monarch mongoose monitor monocle
    monorail monsoon monument moonbeam morsel mortar mosaic mosque mosquito mother motor motto
    movie mudslide muesli muffin mukluk mulberry multiply mundane mural murmur museum mushroom
    music mustang mutual myriad myself mystery myth nachos namely nametag nanny napkin narrator
    nasal nation natural nature nautical navigate navy nearby nebula necklace necktie nectar needle
    needy neighbor neither neon nephew neptune nerve nestle network neutral neutron newborn
    newlywed newsreel newton nightcap nimble nineteen ninja nitrogen noble nocturne noisy nomad
    nonstop noodle nook normal north nosegay nostril notable notebook nothing notice notify nourish
    novelty november nozzle nucleic nucleus nugget numeral numeric nursery nurture nutmeg nutshell
    nylon oaken oasis oatmeal object oblong oboe observer obstacle obtain obvious occasion occupy
    ocean october octopus oddity odyssey offbeat offhand office offshore often oilcloth ointment
    okra olive olympic omega ominous onion onlooker onset onstage onward opal opaque opening opera
    operate opinion opponent optic optimal option opulent orange orator orbit orca orchard orchid
    order ordinary oregano organ organic origami origin ornament ornate orthodox ostrich otter
    outback outbound outcast outcome outdoor outfield outfit outlaw outlet outline outlook output
    outside outsmart oven overall overcast overcoat overhead overjoy overlap overlook overtime
    overture owner oxidize oxygen oyster ozone pacific pacify package paddle padlock pageant
    painter palace palisade palm palomino pamphlet panacea pancake panda panel panorama pantheon
    panther pantry papaya paper paprika papyrus parable parabola parade paradise paradox paragon
    parakeet parallel parasol pardon parent parfait parking parody parsley parsnip particle partner
    party passive passport pastime pastrami pasture patch pathway patio patriot pattern pavement
    pavilion payload payment payroll peaceful peacock peanut pearly pebble pecan peculiar peerless
    pelican pelt pencil pendant pendulum penguin penknife penny pension pentagon people pepper
    percent perfect perfume perhaps period perky perplex persist person pesto petition petunia
    pewee pewter phantom pharmacy phoenix phonics photo phrase physics pianist piano piccolo pickle
    picnic picture piggy pigment pigtail pilaf pilgrim pillow pilot pimento pinafore pinball
    pinecone pinnacle pinpoint pinwheel pioneer pirate piston pitcher pixel pizza placard placid
    planet plankton planner plasma plaster plastic plateau platform platinum platypus player
    playful playpen plaza plenty pliers plumage plunge pluto plywood podium poem poetry poignant
    polar polaris police polish politics pollen pollster polo polygon pomelo poncho pond pontoon
    popcorn popover poppy populate porch porridge portable portal portly portrait possible postage
    postcard poster potato poultry powder powerful prawn preamble precious precise predict preface
    prefer prelude premium prepare prestige pretzel preview price primary primrose priority prism
    pristine private probable probe problem proceed proclaim procure prodigy produce profile
    profound program progress project prologue promise prompt pronoun propane propel prosper
    protein protest proton proud proverb provide province prowess prudent prune public publish
    pudding pueblo puffer pulley pulpit pulsar puma pumice pumpkin punctual pundit puppet purchase
    purely purify purple purpose purse pursuit puzzle pyramid python quadrant quail quaint quality
    quandary quantum quarrel quarry quarter quasar queen query quest question quibble quiche quilt
    quinoa quintet quirky quiver quiz quota quotient raccoon radar radial radiant radiator radio
    raffle raft ragtime railroad railway rainbow raincoat rainfall rally rambler rampart rancher
    random ranger rapids rattle raven ravine ravioli rawhide razor reactor readily reading realize
    realm rebound recall recess recipe recital reckon recline record recorder recycle redeem reduce
    redwood referee refine reflect reform refresh refuge regain regatta regime region register
    regular rehearse reindeer rejoice relative relay relevant relic relish remark remedy remember
    remnant remote render renewal renown rental repair repeat replica reply reporter repose reptile
    republic request require rescue resemble reserve resident resolve resort respect restful result
    retreat retrieve return reunion reveal revenue reverse revival reward rhapsody rhombus rhubarb
    rigid rimless ripple ritual rivalry riverbed roadside robin robot robust rocket rockfish rodent
    rodeo romaine romance rooftop roomful rooster rosemary rosette rotate rotation rotunda roulette
    roundup routine rowboat royal rubber rubric ruby ruckus rudder ruler rummage runner runway
    russet rustic sadden safari saffron saga sailboat saint salad salary salsa salt salute salvage
    samba samurai sandal sandbar sandbox sandwich sanity sapling sapphire sardine sarong satchel
    satisfy saturn saucer saunter sausage savanna savory savvy sawdust sawmill scaffold scale
    scallop scamper scarf scarlet scatter scenario scenic scepter schedule scholar school schooner
    science scissors scooter scorch scorpion scout scramble screen scribble script scroll scruffy
    scrunch scuba sculptor seaboard seafood seagull seahorse sealant seaport seaside season second
    secret section secure sedan seedling seesaw segment seismic select semester seminar senior
    sensible sentence sentinel sepia sequel sequoia serenade series sermon service sesame setback
    seven seventy several shadow shaggy shampoo shamrock shantung shapely shark sharpen sheepdog
    shelf shelter shepherd sherbet sheriff shield shiitake shimmer shingle shipyard shoebox
    shoelace shogun shore shortcut shoulder shovel showcase shower showroom shrewd shrimp shrink
    shrivel shrub shutter shuttle shyly sibling sideline sidestep sidewalk siesta signal signpost
    silence silicon silo silver similar simple sincere sinew siren sister sitcom sixteen sizzle
    skate skeleton sketch skewer skiff skillet skipper skirmish skunk skydive skylark skylight
    skyline skyward slalom sledge sleek sleepy sleeve sleuth slick slipknot slither slogan slope
    sloth smartly smile smoke smoothie smudge snack snail snapper snapshot sneaker snippet snooze
    snorkel snowball snowcap snowman snug snuggle soccer sociable society soda softball software
    sojourn solemn solid solstice soluble solution solve somber someday somehow sonar sonic soothe
    soprano sorbet sorcerer sorrel souffle soulful soup southern souvenir soybean spacious spaniel
    sparkle sparrow spartan spatula special spectrum speech speedy sphere sphinx spice spider
    spinach spindle spiral spirit splash splendid splinter splurge sponge spoon spoonful sport
    sprawl spread sprinkle sprocket sprout spruce spry spur spyglass squabble squad square squeegee
    squint squirm squirrel stadium stairway stallion stalwart stamina stamp standard stanza
    stardust starfish starling startle static station steady stealth steam steamer steed steeple
    stellar stencil stepson stereo steward sticker stiletto stimulus stirrup stocking stone stool
    stopper storage storm strainer stranger strategy stratum street stretch string stripe strudel
    stubborn stucco student studio studious sturdy stylish subject sublime subsidy subtle suburb
    subway success suffix sugar suggest suitable suitcase sultan sumac summer summit sumo sunbeam
    sunburn sundial sundown sunfish sunglass sunlight sunrise sunspot superb superior supper supply
    support supreme surface surfer surgeon surname surplus surprise surround survey sushi suspend
    sustain swagger swallow swan sweater sweep sweetly swerve swift swivel sycamore syllable
    symmetry symphony synergy synopsis syntax syrup system tablet tabloid taciturn taco tactful
    tactic tadpole taffy talcum talent talisman talon tamale tandem tangent tanker tapestry tapioca
    target tariff tarragon tassel tattoo taupe taxi taxicab teacher teacup teammate teamwork teapot
    teaspoon telecast telegram temper tempest template temple tempo tempura tenacity tenant tendon
    tendril tennis tentacle terminal termite terrace terrapin terrier terrific testify tether
    textbook textile texture thankful thatch theme theory therapy thermal thermos thesis thigh
    thimble thinker thirteen thirty thistle thorn thought thousand thread thrifty thriller thrive
    throttle throw thunder thursday thyroid tiara ticket tidal tidbit tidings tiger timber timeless
    timid timpani tincture tinsel tiny tiptoe titan titanium titular toast toboggan toddler toga
    together token tolerant tomato tomorrow toolbox topaz topic topmost topple topsoil tornado
    torrent torte tortoise total totem toucan toughen touring tourist towel township tractor trader
    traffic trailer tranquil transfer transit trapdoor trapeze traverse treasure treble trellis
    tremor trendy trespass triangle tribute trickle tricycle trident trigger trillion trilogy
    trimmer trinket trio triple tripod triumph trolley trombone trophy tropical trough trousers
    trout truck truffle truly trumpet trundle truthful tubular tugboat tulip tumbler tuna tundra
    tunic tunnel turbo turf turkey turmeric turnip turnover turnpike turret turtle tusk tutor
    tutorial tuxedo twang tweezers twelve twenty twilight twinkle twirl twist tycoon typhoon
    typical typist ulterior ultimate ultra umbrella unaware unbiased uncanny uncle uncommon uncover
    underdog undo unfold unfurl unicorn uniform unify unique unisex unite universe unlike unlock
    unpack unravel unruly unsung untie unusual unveil unwind unzip upbeat update upgrade upheaval
    uphill uplift upload upright upriver upscale upstream uptown upward uranium urban urchin urgent
    usable useful usher usual utensil utility utopia vacant vaccine vacuum vagabond vague valet
    valiant valid valise valley vanguard vanilla variable varied variety varnish varsity vast vault
    vector vegan vehicle velocity velour velvet vendor veneer venison venture veranda verbena
    verdict verify verse version vertical vertigo vespers vessel veteran viable viaduct vibrant
    vicinity victory video viewer vigilant viking village vinegar vineyard vintage vinyl viola
    violet violin viper virtual virtue visible vision visitor vista visual vitality vitamin vivid
    vixen vocal vocation voice volcano voltage volume voter voucher voyage vulcan wagon wakeful
    walkway walleye wallop walnut walrus waltz wanderer wanted warbler wardrobe warm warmth
    warranty washable washer washroom wasp watchdog watchful water waterway waxwork waxy wayside
    wayward wedding wedge weekday weekend weevil welcome welder welfare western westward wetland
    whaler wharf whisk whisker wick wicker widget wiggle wigwam wildcat wildfire wildlife wildwood
    windfall windmill window windsock windy winery wingspan winsome winter wireless wiry wisdom
    wishbone wishful wobble wombat woodcut woodland woodpile woodshed woodwind woodwork word
    workday workload workout workshop worldly worship worthy wrangler wreath wrench wrestler
    wrinkle writer yearbook yeast yellow yeoman yonder younger youth yucca yuletide zealous zebra
    zebu zenith zeppelin zesty zigzag zipper zircon zither zodiac zonal zoology zoom zucchini
    """
}
