// swift-tools-version: 6.2
import PackageDescription

/// Whether this package is built by its Makefile, and not as a dependency.
let ours = Context.environment["HOLDFAST_STRICT"] != nil

/// As a dependency the package is built without warnings, and the compiler does not accept both
/// options.
let warnings: [SwiftSetting] =
  ours
  ? [
    .treatAllWarnings(as: .error)
  ] : []

/// The settings of every target. There is one list so that no target can be laxer than another.
let strict: [SwiftSetting] =
  warnings + [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
  ]

/// The settings of modules that compute most in the tests: the simulator's, which plays hundreds of
/// hours, and readers of large inputs.
///
/// They are optimized in debug builds too, which still check every invariant.
let optimised: [SwiftSetting] =
  ours ? [.unsafeFlags(["-O"], .when(configuration: .debug))] : []

func library(
  _ name: String, at path: String, uses: [Target.Dependency] = [], with more: [SwiftSetting] = [],
  resources: [Resource] = []
) -> Target {
  .target(
    name: name, dependencies: uses, path: "Sources/\(path)", resources: resources,
    swiftSettings: strict + more)
}

func played(_ name: String, at path: String, uses: [Target.Dependency] = []) -> Target {
  library(name, at: path, uses: uses, with: optimised)
}

/// Returns a system library. One in Apple's SDKs has no `pkgConfig`, since the answer of another
/// package manager would apply to a Mac and not to a phone.
func system(_ name: String, _ pkgConfig: String? = nil, apt: String) -> Target {
  .systemLibrary(
    name: name, path: "Sources/Adapters/System/\(name)", pkgConfig: pkgConfig,
    providers: [.apt([apt])])
}

/// Returns dependencies on targets of `onlyOnLinux`, which only a build for Linux uses.
func onLinux(_ names: String...) -> [Target.Dependency] {
  #if os(Linux)
    names.map { .target(name: $0, condition: .when(platforms: [.linux])) }
  #else
    []
  #endif
}

func tests(_ name: String, uses: [Target.Dependency], besides data: [String] = []) -> Target {
  .testTarget(
    name: name, dependencies: uses, path: "Tests/\(name)", exclude: data, swiftSettings: strict)
}

// 1. Pure: values only. No clock, no randomness of their own, no tasks, no Foundation.
let pure: [Target] = [
  played("LinkCore", at: "Core"),
  played("LinkJSON", at: "JSON", uses: ["LinkCore"]),
  played("LinkHealth", at: "Health", uses: ["LinkCore", "LinkJSON"]),
  played("LinkWire", at: "Wire", uses: ["LinkCore", "LinkJSON", "LinkHealth"]),
  // The stored forms of feature data. Messages do not use them.
  played(
    "LinkStorage", at: "Storage", uses: ["LinkCore", "LinkJSON", "LinkHealth", "LinkWire"]),
  played("BottleFirmware", at: "Firmware"),
  played("VirtualBottle", at: "VirtualBottle", uses: ["BottleFirmware", "LinkCore", "LinkWire"]),
  library("LinkProtocols", at: "Protocols", uses: ["CZlib"]),
  played(
    "MessageStream", at: "Features/MessageStream", uses: ["LinkCore", "LinkWire", "LinkStorage"]),
  played("HealthRelay", at: "Features/HealthRelay", uses: ["LinkCore", "LinkHealth", "LinkWire"]),
  played("HeldSocket", at: "Features/HeldSocket", uses: ["LinkCore"]),
  library(
    "SessionAudit", at: "Tools/Audit", uses: ["LinkCore", "LinkJSON", "LinkWire"]),
  played("Session", at: "Features/Session", uses: ["LinkCore", "LinkWire", "LinkStorage"]),
  played("BottleLink", at: "Features/BottleLink", uses: ["LinkCore", "LinkWire", "LinkStorage"]),
  played(
    "HealthSync", at: "Features/HealthSync",
    uses: ["LinkCore", "LinkHealth", "LinkWire", "LinkStorage"]),
  played(
    "LinkServerCore", at: "ServerCore",
    uses: ["LinkCore", "LinkJSON", "LinkHealth", "LinkWire", "LinkStorage"]),
  played(
    "LinkSimulator", at: "Simulator",
    uses: [
      "LinkCore", "LinkJSON", "LinkHealth", "LinkWire", "LinkStorage", "MessageStream",
      "HealthRelay",
      "HeldSocket", "LinkServerCore", "Session", "HealthSync", "BottleFirmware", "BottleLink",
      "VirtualBottle",
    ]),
]

// 2. Runtime: the only place that owns tasks and time.
let runtime: [Target] = [
  library("LinkDriver", at: "Driver", uses: ["LinkCore"]),
  // The ports of the features. The module re-exports the driver.
  library(
    "LinkRuntime", at: "Runtime",
    uses: ["LinkCore", "LinkHealth", "LinkWire", "LinkStorage", "LinkDriver"]),
]

// 3. Adapters: one folder for each outside system.
let adapters: [Target] = [
  system("CZlib", apt: "zlib1g-dev"),
  system("CSQLite", apt: "libsqlite3-dev"),
  system("CCurl", "libcurl", apt: "libcurl4-openssl-dev"),
  system("COpenSSL", "openssl", apt: "libssl-dev"),
  system("CArchive", "libarchive", apt: "libarchive-dev"),
  system("CSystemd", "libsystemd", apt: "libsystemd-dev"),
  .target(name: "CLinux", path: "Sources/Adapters/System/CLinux"),
  library("LinuxEvents", at: "Adapters/LinuxEvents", uses: ["CLinux"]),
  library("ChildProcesses", at: "Adapters/ChildProcesses", uses: ["LinkCore", "CLinux"]),
  library(
    "CurlNetwork", at: "Adapters/CurlNetwork",
    uses: ["LinkCore", "LinkDriver", "LinkProtocols", "CCurl", "CLinux"]),
  library(
    "StoreSQLite", at: "Adapters/StoreSQLite",
    uses: [
      "LinkCore", "LinkHealth", "LinkWire", "LinkStorage", "LinkRuntime", "OwnerFiles", "CSQLite",
    ]),
  library(
    "RadioSocket", at: "Adapters/RadioSocket", uses: ["LinkCore", "LinkWire", "LinkRuntime"]),
  library(
    "BluetoothBlueZ", at: "Adapters/BluetoothBlueZ",
    uses: ["LinkCore", "LinkWire", "LinkRuntime", "LinuxBus"]),
  library("OwnerFiles", at: "Adapters/OwnerFiles", uses: ["LinkCore"]),
  // Apple's platforms use CryptoKit.
  library("KeyedHashing", at: "Adapters/KeyedHashing", uses: onLinux("COpenSSL")),
  library(
    "ExportFiles", at: "Adapters/ExportFiles",
    uses: ["LinkHealth", "OwnerFiles"] + onLinux("CArchive")),
  library(
    "ReachabilityNetlink", at: "Adapters/ReachabilityNetlink",
    uses: ["LinkCore", "LinkDriver", "CLinux", "LinuxEvents"]),
  library("LinuxBus", at: "Adapters/LinuxBus", uses: ["CSystemd", "LinuxEvents"]),
  library(
    "NetworkCost", at: "Adapters/NetworkCost",
    uses: ["LinkCore", "LinkDriver", "LinuxBus", "LinuxEvents"]),
  library(
    "LifecycleSystem", at: "Adapters/LifecycleSystem",
    uses: ["LinkDriver", "CSystemd", "LinuxEvents", "LinuxBus"]),
  library(
    "NotificationsDBus", at: "Adapters/NotificationsDBus",
    uses: ["LinkDriver", "CSystemd", "LinuxBus"]),
  library(
    "PushAPNs", at: "Adapters/PushAPNs",
    uses: ["LinkCore", "LinkJSON", "LinkWire", "LinkRuntime", "OwnerFiles", "COpenSSL"]),
  library(
    "PushHook", at: "Adapters/PushHook",
    uses: ["LinkCore", "LinkJSON", "LinkWire", "LinkRuntime", "ChildProcesses"]),
  library(
    "ServerSockets", at: "Adapters/ServerSockets",
    uses: ["LinkCore", "LinkProtocols", "CLinux", "COpenSSL"]),
]

// 4. What people use: the APIs for apps, the test kit, the tools.
let doors: [Target] = [
  // A held socket and the parts that all feature APIs share, without any feature that stores data.
  library(
    "HoldfastSocket", at: "HoldfastSocket",
    uses: ["LinkCore", "LinkJSON", "LinkDriver", "HeldSocket", "OwnerFiles"]
      + onLinux("CurlNetwork", "ReachabilityNetlink", "NetworkCost", "LifecycleSystem"),
    resources: [.copy("Resources/PrivacyInfo.xcprivacy")]),
  library(
    "Holdfast", at: "Holdfast",
    uses: [
      "HoldfastSocket", "LinkCore", "LinkJSON", "LinkHealth", "LinkWire", "LinkStorage",
      "LinkDriver",
      "LinkRuntime", "MessageStream", "HealthRelay", "Session", "HealthSync", "BottleLink",
      "LinkProtocols", "StoreSQLite", "KeyedHashing", "ExportFiles", "OwnerFiles",
    ] + onLinux("NotificationsDBus", "RadioSocket", "BluetoothBlueZ"),
    resources: [.copy("Resources/PrivacyInfo.xcprivacy")]),
  // Observable models for the screens of an app.
  library("HoldfastUI", at: "HoldfastUI", uses: ["Holdfast", "LinkHealth"]),
  library(
    "HoldfastTestKit", at: "TestKit",
    uses: ["LinkCore", "LinkHealth", "LinkWire", "LinkStorage", "LinkRuntime"]
      + onLinux("HoldfastLab")),
  // Plays seeds of the simulator's worlds on all cores.
  library("HoldfastSimulator", at: "Simulation", uses: ["LinkSimulator"]),
  library("HoldfastLab", at: "NetworkLab", uses: ["ChildProcesses"]),
  library(
    "HoldfastBackend", at: "Tools/Backend",
    uses: [
      "LinkCore", "LinkJSON", "LinkHealth", "LinkWire", "LinkStorage", "LinkRuntime",
      "LinkProtocols",
      "LinkServerCore", "ServerSockets", "StoreSQLite", "COpenSSL", "CurlNetwork", "PushAPNs",
      "PushHook", "OwnerFiles", "ChildProcesses", "KeyedHashing",
    ]),
  library(
    "CommandKit", at: "Tools/CommandKit",
    uses: ["LinkCore", "LinkJSON", "OwnerFiles", "LifecycleSystem"]),
  library(
    "HoldfastDemo", at: "Tools/Demo",
    uses: [
      "CommandKit", "Holdfast", "HoldfastBackend", "HoldfastTestKit", "LinkCore", "LinkJSON",
      "LinkHealth", "LinkWire", "LinkRuntime", "LinkServerCore", "LinkProtocols", "ServerSockets",
      "OwnerFiles", "StoreSQLite", "HealthSync",
    ]),
  .executableTarget(
    name: "HoldfastCommand",
    dependencies: [
      "CommandKit", "HoldfastDemo", "Holdfast", "HoldfastBackend", "HoldfastTestKit", "LinkCore",
      "LinkJSON", "LinkHealth", "LinkWire", "LinkStorage", "LinkRuntime", "MessageStream",
      "LinkProtocols",
      "HealthRelay", "HeldSocket", "Session", "HealthSync", "SessionAudit", "LinkServerCore",
      "OwnerFiles", "ChildProcesses", "KeyedHashing", "COpenSSL", "BottleFirmware", "VirtualBottle",
      "BottleLink", "RadioSocket",
    ] + onLinux("BluetoothBlueZ"),
    path: "Sources/Tools/Command", swiftSettings: strict),
  .executableTarget(
    name: "SimulatorCommand",
    dependencies: [
      "CommandKit", "HoldfastSimulator", "LinkCore", "LinkJSON", "LinkRuntime", "LinkSimulator",
      "OwnerFiles", "HealthRelay",
    ],
    path: "Sources/SimulatorCommand", swiftSettings: strict),
]

// 5. Benchmarks: programs of their own, so that no product contains them.
let measures: [Target] = [
  .target(
    name: "HoldfastHerd", dependencies: ["LinkCore"], path: "Benchmarks/Herd",
    swiftSettings: strict),
  .target(
    name: "HoldfastEngineBench",
    dependencies: ["LinkCore", "LinkWire", "LinkStorage", "MessageStream"],
    path: "Benchmarks/Engine", swiftSettings: strict),
  .executableTarget(
    name: "EngineLoop", dependencies: ["HoldfastEngineBench"], path: "Benchmarks/EngineLoop",
    swiftSettings: strict),
  // Holds thousands of sockets to any server. It is written in C, so that it is never the
  // bottleneck.
  .executableTarget(
    name: "LoadGenerator", dependencies: ["COpenSSL", "CZlib", "CCurl"], path: "Benchmarks/Load",
    cSettings: [.headerSearchPath(".")], linkerSettings: [.linkedLibrary("z")]),
  .executableTarget(
    name: "HoldfastBench",
    dependencies: [
      "CommandKit", "LinkCore", "LinkJSON", "LinkHealth", "LinkWire", "LinkStorage",
      "LinkProtocols",
      "LinkRuntime", "MessageStream", "Session", "CurlNetwork", "ServerSockets", "StoreSQLite",
      "CSQLite", "Holdfast", "HoldfastTestKit", "HoldfastBackend", "LinkServerCore",
      "HoldfastEngineBench", "HoldfastHerd", "HealthSync", "LinkSimulator",
    ],
    path: "Benchmarks/Bench", swiftSettings: strict),
]

let checks: [Target] = [
  tests("CoreTests", uses: ["LinkCore", "HoldfastTestKit"]),
  tests(
    "WireTests",
    uses: ["LinkCore", "LinkJSON", "LinkHealth", "LinkWire", "HoldfastTestKit"]),
  tests(
    "StorageTests",
    uses: [
      "LinkCore", "LinkJSON", "LinkHealth", "LinkWire", "LinkStorage", "LinkRuntime",
      "HoldfastTestKit",
    ]),
  tests("JSONTests", uses: ["LinkCore", "LinkJSON", "HoldfastTestKit"]),
  // Random inputs to every machine, with all invariants checked after each step.
  tests(
    "RandomInputTests",
    uses: [
      "LinkCore", "LinkJSON", "LinkHealth", "LinkWire", "LinkStorage", "MessageStream",
      "HealthRelay",
      "HeldSocket", "Session", "HealthSync", "BottleLink", "BottleFirmware", "VirtualBottle",
      "LinkServerCore",
    ]),
  tests(
    "HealthTests", uses: ["LinkCore", "LinkJSON", "LinkHealth", "Holdfast", "HoldfastTestKit"],
    besides: ["Answers/Kept", "Export/Kept"]),
  tests("ProtocolsTests", uses: ["LinkProtocols"]),
  tests(
    "MessageStreamTests",
    uses: ["LinkCore", "LinkWire", "LinkStorage", "MessageStream", "HoldfastTestKit"]),
  tests(
    "HealthRelayTests",
    uses: ["LinkCore", "LinkHealth", "LinkJSON", "LinkWire", "HealthRelay", "HoldfastTestKit"]),
  tests(
    "AuditTests", uses: ["LinkCore", "LinkWire", "SessionAudit", "HoldfastTestKit"],
    besides: ["Kept"]),
  tests("FirmwareTests", uses: ["BottleFirmware", "LinkCore", "LinkWire", "VirtualBottle"]),
  tests(
    "BottleLinkTests",
    uses: [
      "LinkCore", "LinkWire", "LinkStorage", "BottleFirmware", "VirtualBottle", "BottleLink",
      "HoldfastTestKit",
    ]),
  tests("HeldSocketTests", uses: ["LinkCore", "HeldSocket", "HoldfastTestKit"]),
  tests(
    "SessionTests", uses: ["LinkCore", "LinkWire", "LinkStorage", "Session", "HoldfastTestKit"]),
  tests(
    "HealthSyncTests",
    uses: ["LinkCore", "LinkHealth", "LinkWire", "LinkStorage", "HealthSync", "HoldfastTestKit"]),
  tests(
    "ServerCoreTests",
    uses: [
      "LinkCore", "LinkHealth", "LinkJSON", "LinkWire", "LinkStorage", "LinkServerCore",
      "HoldfastTestKit",
    ]),
  tests(
    "RuntimeTests",
    uses: ["LinkCore", "LinkWire", "LinkDriver", "HoldfastSocket", "HoldfastTestKit"]),
  tests(
    "CurlNetworkTests",
    uses: ["LinkCore", "LinkRuntime", "LinkProtocols", "CurlNetwork", "CCurl", "HoldfastTestKit"]),
  tests(
    "StoreSQLiteTests",
    uses: [
      "LinkCore", "LinkHealth", "LinkWire", "LinkStorage", "LinkRuntime", "StoreSQLite",
      "OwnerFiles",
      "HoldfastTestKit",
    ]),
  tests("ExportFilesTests", uses: ["ExportFiles", "HoldfastTestKit"]),
  // Separate from HoldfastTests: an import uses all processors, and no clock waits there.
  tests(
    "HealthImportTests",
    uses: [
      "LinkCore", "LinkHealth", "LinkWire", "LinkStorage", "LinkProtocols", "LinkRuntime",
      "Holdfast",
      "HoldfastTestKit",
    ]),
  tests(
    "SystemTests",
    uses: [
      "LinkCore", "LinkRuntime", "ReachabilityNetlink", "NetworkCost", "LifecycleSystem",
      "NotificationsDBus", "ChildProcesses", "CLinux", "CSystemd", "LinuxBus", "RadioSocket",
      "BluetoothBlueZ", "BottleFirmware", "VirtualBottle", "LinkWire", "HoldfastTestKit",
    ]),
  tests(
    "PushTests",
    uses: [
      "LinkCore", "LinkWire", "LinkRuntime", "CurlNetwork", "PushAPNs", "PushHook",
      "HoldfastTestKit",
    ]),
  tests(
    "BackendTests",
    uses: [
      "Holdfast", "HealthRelay", "LinkProtocols", "ServerSockets", "HoldfastBackend",
      "LinkServerCore", "LinkCore", "LinkHealth", "LinkWire", "LinkStorage", "LinkRuntime",
      "CLinux",
      "HoldfastTestKit", "LinkJSON",
    ],
    besides: ["MCP/SDK"]),
  tests(
    "HoldfastTests",
    uses: [
      "LinkCore", "LinkHealth", "LinkWire", "LinkStorage", "LinkRuntime", "LinkProtocols",
      "MessageStream",
      "HealthRelay", "HeldSocket", "Session", "Holdfast", "HoldfastSocket", "HoldfastBackend",
      "HoldfastTestKit", "CommandKit", "HoldfastDemo", "HoldfastLab", "LinkServerCore",
      "ServerSockets", "HealthSync",
    ],
    besides: ["HeldSocket/Peers", "Session/Peers"]),
  // Separate from HoldfastTests: simulations use all processors, and no clock waits there.
  tests("SimulateTests", uses: ["LinkCore", "LinkSimulator", "HoldfastTestKit"]),
  tests("HerdTests", uses: ["LinkCore", "HoldfastHerd", "HoldfastTestKit"]),
  tests(
    "RelayTests",
    uses: [
      "LinkCore", "LinkHealth", "LinkWire", "LinkRuntime", "LinkProtocols", "LinkServerCore",
      "HealthRelay", "Holdfast", "HoldfastBackend", "HoldfastTestKit", "ServerSockets",
    ]),
  tests(
    "FuzzTests",
    uses: [
      "LinkCore", "LinkHealth", "LinkJSON", "LinkWire", "LinkStorage", "LinkProtocols",
      "LinkDriver",
      "LinkRuntime", "LinkServerCore", "MessageStream", "HeldSocket", "BottleFirmware",
      "BottleLink", "VirtualBottle", "StoreSQLite", "HealthSync", "ReachabilityNetlink",
      "HoldfastBackend", "HoldfastTestKit",
    ],
    besides: ["Corpus", "Words"]),
  tests(
    "SimulatorTests",
    uses: [
      "LinkCore", "LinkHealth", "LinkWire", "LinkStorage", "MessageStream", "HealthRelay",
      "HeldSocket",
      "LinkServerCore", "LinkSimulator", "HoldfastSimulator", "Session", "HealthSync", "BottleLink",
    ],
    besides: ["Corpus"]),
  tests(
    "HoldfastUITests",
    uses: [
      "Holdfast", "HoldfastUI", "HoldfastTestKit", "LinkCore", "LinkHealth", "LinkRuntime",
      "LinkWire",
    ]),
  tests("ArchitectureTests", uses: []),
]

/// The targets that import parts of Linux, and all targets that depend on them. They are not
/// declared on a Mac.
let onlyOnLinux: Set<String> = [
  "CCurl", "COpenSSL", "CArchive", "CSystemd", "CLinux", "LinuxEvents", "LinuxBus",
  "ChildProcesses", "CurlNetwork", "ReachabilityNetlink", "LifecycleSystem", "NotificationsDBus",
  "NetworkCost", "RadioSocket", "BluetoothBlueZ", "PushAPNs", "PushHook", "ServerSockets",
  "HoldfastLab", "HoldfastBackend", "CommandKit", "HoldfastDemo", "HoldfastCommand",
  "SimulatorCommand", "HoldfastHerd", "HoldfastEngineBench", "EngineLoop", "LoadGenerator",
  "HoldfastBench", "CurlNetworkTests", "StoreSQLiteTests", "SystemTests", "PushTests",
  "BackendTests", "HoldfastTests", "SimulateTests", "HerdTests", "RelayTests", "FuzzTests",
]

let everything = pure + runtime + adapters + doors + measures + checks
#if os(Linux)
  let targets = everything
  let programs: [Product] = [
    .executable(name: "holdfast", targets: ["HoldfastCommand"]),
    .executable(name: "holdfast-sim", targets: ["SimulatorCommand"]),
  ]
#else
  let targets = everything.filter { !onlyOnLinux.contains($0.name) }
  let programs: [Product] = []
#endif

let package = Package(
  name: "Holdfast",
  platforms: [.macOS(.v15), .iOS(.v18), .watchOS(.v11), .tvOS(.v18), .visionOS(.v2)],
  products: [
    .library(name: "Holdfast", targets: ["Holdfast"]),
    // The smallest product, imported as HoldfastSocket.
    .library(name: "HeldSocket", targets: ["HoldfastSocket"]),
    .library(name: "HoldfastUI", targets: ["HoldfastUI"]),
    .library(name: "HoldfastTestKit", targets: ["HoldfastTestKit"]),
    .library(name: "LinkCore", targets: ["LinkCore"]),
    .library(name: "HoldfastSimulator", targets: ["HoldfastSimulator"]),
  ] + programs,
  targets: targets
)
