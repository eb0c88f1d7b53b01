"""What a change needs besides the suites that `choose.py` finds by the manifest.

A pattern is a path in which `*` is any text, slashes included. All patterns that match a path count.
Their words are:

  SUITE or SUITE=REGEX   a suite, or those of its tests whose names begin with the expression
  page:SCRIPT            what runs this script of Tests/Pages
  peers:A+B              short runs of peers of scripts/peer-runs
  make:TARGET            a target that takes too long: its name is printed
  lint                   the style of all files
  any other word         a check of scripts/test

A path without a target and without a pattern needs everything. ArchitectureTests always run.
"""

ALWAYS = "ArchitectureTests"

# The beginnings of the names of tests that run every peer for a long time. A change runs those that PEERS
# names, for a short time.
LEFT_OUT = {"ProgramTests": ("PeerRun", "PeerShop", "PeerOperation", "Torture")}

RULES = {
    # Texts. Tests that read a page are found by its name in their sources.
    "*.md": "",
    "docs/*": "",
    # It runs each command of that page, with the files that the page names.
    "docs/operations.md": "peers:operations",
    "CHANGELOG.md": "peers:operations",
    "LICENSE": "",
    "Sources/*.docc/*": "HoldfastTests=ArticleExampleTests",
    # Tools.
    ".ci/*": "",
    ".github/*": "",
    ".gitignore": "",
    ".swift-format": "lint",
    "Makefile": "ProgramTests=InstallTests peers:operations",
    # Its targets are compared with the former ones.
    "Package.swift": "apple-check:ios",
    "Tests/XCTMain.swift": "",
    "scripts/apple*": "apple-check:ios",
    "scripts/bare": "make:bare",
    "scripts/bench": "make:bench",
    "scripts/bluetooth*": "make:bluetooth",
    "scripts/check": "",
    "scripts/conformance": "make:conformance",
    "scripts/docs*": "make:docs",
    "scripts/embedded*": "embedded",
    "scripts/example": "example",
    "scripts/fuzz": "make:fuzz",
    "scripts/instructions": "make:instructions",
    "scripts/nightly": "",
    "scripts/mutants": "SystemTests=MutantsTests",
    "scripts/mutation/*": "SystemTests=MutantsTests",
    "scripts/preload-for-tsan.c": "make:sanitize",
    "scripts/peer-runs": "peers:session_cases",
    # Each peer needs what it installs.
    "scripts/peers": "peers:session_cases",
    "scripts/picture": "",
    "scripts/playground*": "playground HerdTests=PlaygroundTests",
    "scripts/sanitize": "make:sanitize",
    "scripts/selection/*": "",
    "scripts/setup": "",
    "scripts/test": "",
    "scripts/times": "",
    "scripts/wall-clock.c": "ProgramTests=TortureTests peers:image_client",
    "scripts/torture*": "ProgramTests=TortureTests",
    "scripts/web": "",
    # Deliberate defects, which the checkers of the worlds must find.
    "Sources/Base/LinkChecks/*": "make:sim",
    "Sources/*/Checks/*": "make:sim",
    "Sources/*/World/*": "make:sim",
    "Sources/Simulator/*": "make:sim",
    "Sources/Simulator/Command/*": "ProgramTests=InstallTests ProgramTests=PackagingTests",
    "Benchmarks/*": "make:bench",
    "Benchmarks/conformance/*": "make:conformance",
    "Benchmarks/EngineLoop/*": "make:instructions",
    "Benchmarks/instructions.txt": "make:instructions",
    "Benchmarks/Herd/*": "playground HerdTests=PlaygroundTests",
    # Web pages.
    "Web/*.js": "lint-pages",
    "Web/.eslintrc.json": "lint-pages",
    "scripts/lint-pages": "lint-pages",
    "Web/built/*": "ServerPartsTests=PageTests",
    "Web/charts/*": "page:check_app.py",
    "Web/dashboard/*": "page:check_dashboard.py",
    "Web/home/*": "ServerPartsTests",
    "Web/oauth/*": "page:check_oauth.py",
    "Web/picture/*": "page:check_lab.py page:check_picture.py page:check_simulated.py",
    "Web/playground/*": "playground HerdTests=PlaygroundTests",
    "Web/shared/*": "page:check_app.py page:check_dashboard.py page:check_lab.py "
                    "page:check_oauth.py page:check_picture.py playground HerdTests=PlaygroundTests",
    # Apps.
    "Apple/*": "apple-check:ios",
    "Examples/App/*": "example",
    "Examples/HoldfastApp/*": "apple-check:ios",
    "Sources/Apple/*": "apple-check:ios",
    "Sources/HoldfastUI/*": "apple-check:ios",
    # Embedded Swift.
    "Sources/Base/JSON/*": "playground",
    "Sources/Base/Core/*": "embedded",
    "Sources/Bottle/Firmware/*": "embedded",
    # What an operator installs.
    "packaging/*": "peers:operations",
    "packaging/caddy/*": "peers:proxy_caddy",
    "packaging/nginx/*": "peers:proxy_nginx",
    "packaging/prometheus/*": "peers:metrics_prometheus",
    "packaging/systemd/*": "peers:service_manager",
    # Tests that share files with others.
    "Tests/BackendTests/MCP/SDK/*": "peers:cluster_torture",
    "Tests/ProgramTests/Peers/*": "peers:session_cases",
    "Tests/Pages/check_playground.py": "playground",
    "Tests/Pages/pages.py": "playground",
    "Tests/Pages/requirements.txt": "page:check_app.py page:check_dashboard.py page:check_lab.py "
                                    "page:check_oauth.py page:check_picture.py",
    "Tests/Peers/uploads.py": "ProgramTests=TortureTests",
}

BOTTLE = "peers:bottle+bottle_phone"
CLUSTER = "peers:cluster_client+cluster_torture"
HEALTH = "peers:health_client+health_server"
MESSAGES = "peers:message_client+message_retention"
SESSION = "peers:session_cases+session_client+session_server"

# The peers that talk to a part of the program.
PEERS = {
    "Sources/Bottle/*": BOTTLE,
    "Sources/*/BottleLink/*": BOTTLE,
    "Sources/Health/Sync/*": HEALTH,
    "Sources/*/HealthSync/*": HEALTH,
    "Sources/Messages/*": MESSAGES,
    "Sources/*/MessageStream/*": MESSAGES,
    "Sources/*/Shop/*": MESSAGES,
    "Sources/*Session/*": SESSION,
    "Sources/*/Uploads/*": "peers:health_client+image_client",
    "Sources/*/HealthRelay/*": "peers:crowd",
    "Sources/*/Relay/*": "peers:crowd",
    "Sources/*Assistants/*": "peers:crowd",
    "Sources/Server/Sockets/*": "peers:crowd+session_client",
    "Sources/Base/LinuxDevice/Lifecycle/*": "peers:service_manager",
    "Sources/Stores/PostgreSQL/*": CLUSTER,
    "Sources/*/Node*": CLUSTER,
    "Sources/Server/NodeBus/NATS/*": "peers:cluster_client",
    "Sources/*/Backups/*": "peers:backup_restore",
    "Sources/*/Hooks/*": "peers:hook_server",
    "Sources/Server/Operators/Admin/*": "peers:admin_client",
    "Sources/Server/Identity/*": "peers:identity_client",
    "Sources/Server/Backend/Admin/*": "peers:admin_client",
    "Sources/Server/Backend/Files/*": "peers:image_client",
    "Sources/Server/Backend/Identity/*": "peers:identity_client",
    "Sources/Server/Backend/Operators/*": "peers:admin_client",
    "Sources/Server/Backend/Services/*": "peers:service_manager",
}

# Folders that peers do not reach: what apps, tests and pictures show.
UNREACHED = (
    "Sources/*/Checks/*", "Sources/*/World/*", "Sources/Base/LinkChecks/*", "Sources/HoldfastUI/*",
    "Sources/Simulator/*", "Sources/TestKit/*", "Sources/Tools/Demo/*", "Sources/Tools/LinkTrace/*",
)
