// swift-tools-version: 6.2
import PackageDescription

/// Whether this package is built by its Makefile, and not as a dependency.
let ours = Context.environment["HOLDFAST_STRICT"] != nil

/// As a dependency the package is built without warnings, and the compiler does not accept both
/// options.
let warnings: [SwiftSetting] = ours ? [.treatAllWarnings(as: .error)] : []

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
/// With HOLDFAST_OPTIMIZE they are optimized in debug builds too, which still check every invariant.
/// That takes ten times as long to compile, and is for runs with all seeds.
let optimised: [SwiftSetting] =
  ours && Context.environment["HOLDFAST_OPTIMIZE"] != nil
  ? [.unsafeFlags(["-O"], .when(configuration: .debug))] : []

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

/// Returns dependencies on targets that need Linux, which only a build for Linux uses.
func onLinux(_ names: String...) -> [Target.Dependency] {
  #if os(Linux)
    names.map { .target(name: $0, condition: .when(platforms: [.linux])) }
  #else
    []
  #endif
}

/// Returns dependencies on targets of `appleAdapters`, which only a build for Apple's platforms uses.
func onApple(_ names: String...) -> [Target.Dependency] {
  #if os(Linux)
    []
  #else
    names.map {
      .target(
        name: $0, condition: .when(platforms: [.macOS, .iOS, .watchOS, .tvOS, .visionOS]))
    }
  #endif
}

/// Returns dependencies on targets of `standIns`, which only this package's own build for Linux has.
func onStandIns(_ names: String...) -> [Target.Dependency] {
  #if os(Linux)
    ours ? names.map { .target(name: $0, condition: .when(platforms: [.linux])) } : []
  #else
    []
  #endif
}

func standIn(_ name: String) -> Target {
  .target(
    name: name, path: "Apple/StandIns/\(name)",
    swiftSettings: warnings + [.swiftLanguageMode(.v6)])
}

/// The settings of tests, which no other module imports: their module file is written with their
/// objects, since a separate job would expand all macros a second time.
let tested: [SwiftSetting] =
  strict + (ours ? [.unsafeFlags(["-no-emit-module-separately-wmo"])] : [])

func tests(_ name: String, uses: [Target.Dependency], besides data: [String] = []) -> Target {
  .testTarget(
    name: name, dependencies: uses, path: "Tests/\(name)", exclude: data, swiftSettings: tested)
}

// 1. Pure: values only. No clock, no randomness of their own, no tasks, no Foundation.
let pure: [Target] = [
  played("HoldfastCore", at: "Core"),
  played("HoldfastJSON", at: "JSON", uses: ["HoldfastCore"]),
  played("HoldfastHealth", at: "Health", uses: ["HoldfastCore", "HoldfastJSON"]),
  played("HoldfastWire", at: "Wire", uses: ["HoldfastCore", "HoldfastJSON", "HoldfastHealth"]),
  // The stored forms of feature data. Messages do not use them.
  played(
    "HoldfastStorage", at: "Storage",
    uses: ["HoldfastCore", "HoldfastJSON", "HoldfastHealth", "HoldfastWire"]),
  played("HoldfastFirmware", at: "Firmware"),
  played(
    "HoldfastVirtualBottle", at: "VirtualBottle",
    uses: ["HoldfastFirmware", "HoldfastCore", "HoldfastWire"]),
  library("HoldfastProtocols", at: "Protocols", uses: ["CHoldfastZlib"]),
  // The pages of `Web/built`. No module of an app uses it.
  played("HoldfastPages", at: "Pages", uses: ["CHoldfastPages"]),
  played(
    "HoldfastMessageStream", at: "Features/MessageStream",
    uses: ["HoldfastCore", "HoldfastWire", "HoldfastStorage"]),
  played(
    "HoldfastHealthRelay", at: "Features/HealthRelay",
    uses: ["HoldfastCore", "HoldfastHealth", "HoldfastWire"]),
  played("HoldfastHeldSocket", at: "Features/HeldSocket", uses: ["HoldfastCore"]),
  library(
    "HoldfastSessionAudit", at: "Tools/Audit",
    uses: ["HoldfastCore", "HoldfastJSON", "HoldfastWire"]),
  played(
    "HoldfastSession", at: "Features/Session",
    uses: ["HoldfastCore", "HoldfastWire", "HoldfastStorage"]),
  played(
    "HoldfastBottleLink", at: "Features/BottleLink",
    uses: ["HoldfastCore", "HoldfastWire", "HoldfastStorage"]),
  played(
    "HoldfastHealthSync", at: "Features/HealthSync",
    uses: ["HoldfastCore", "HoldfastHealth", "HoldfastWire", "HoldfastStorage"]),
  played(
    "HoldfastServerCore", at: "ServerCore",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastHealth", "HoldfastWire", "HoldfastStorage",
      "HoldfastPages",
    ]),
  // What is observed of links, and the checkers that a journal is enough for.
  played(
    "HoldfastLinkChecks", at: "LinkChecks",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastWire", "HoldfastStorage", "HoldfastMessageStream",
      "HoldfastHealthRelay", "HoldfastHeldSocket", "HoldfastSession", "HoldfastHealthSync",
      "HoldfastBottleLink", "HoldfastServerCore",
    ]),
  played(
    "HoldfastWorlds", at: "Simulator",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastHealth", "HoldfastWire", "HoldfastStorage",
      "HoldfastLinkChecks", "HoldfastMessageStream", "HoldfastHealthRelay",
      "HoldfastHeldSocket", "HoldfastServerCore", "HoldfastSession", "HoldfastHealthSync",
      "HoldfastFirmware", "HoldfastBottleLink",
      "HoldfastVirtualBottle",
    ]),
  // Traces of runs, which pictures show.
  played(
    "HoldfastLinkTrace", at: "LinkTrace",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastWire", "HoldfastStorage",
      "HoldfastLinkChecks", "HoldfastMessageStream", "HoldfastHealthRelay", "HoldfastHeldSocket",
      "HoldfastSession", "HoldfastHealthSync", "HoldfastBottleLink", "HoldfastProtocols",
      "HoldfastPages",
    ]),
  // Traces of simulated runs.
  played(
    "HoldfastRunTraces", at: "RunTraces",
    uses: ["HoldfastCore", "HoldfastLinkChecks", "HoldfastLinkTrace", "HoldfastWorlds"]),
]

// 2. Runtime: the only place that owns tasks and time.
let runtime: [Target] = [
  library("HoldfastPorts", at: "Ports", uses: ["HoldfastCore"]),
  library("HoldfastDriver", at: "Driver", uses: ["HoldfastCore", "HoldfastPorts"]),
  // The ports of the features.
  library(
    "HoldfastFeaturePorts", at: "FeaturePorts",
    uses: ["HoldfastCore", "HoldfastHealth", "HoldfastWire", "HoldfastStorage", "HoldfastPorts"]),
]

// 3. Adapters: one folder for each outside system.
let adapters: [Target] = [
  system("CHoldfastZlib", apt: "zlib1g-dev"),
  system("CHoldfastSQLite", apt: "libsqlite3-dev"),
  system("CHoldfastPostgreSQL", "libpq", apt: "libpq-dev"),
  system("CHoldfastNATS", "libnats", apt: "libnats-dev"),
  system("CHoldfastCurl", "libcurl", apt: "libcurl4-openssl-dev"),
  system("CHoldfastOpenSSL", "openssl", apt: "libssl-dev"),
  system("CHoldfastArchive", "libarchive", apt: "libarchive-dev"),
  system("CHoldfastSystemd", "libsystemd", apt: "libsystemd-dev"),
  .target(name: "CHoldfastLinux", path: "Sources/Adapters/System/CHoldfastLinux"),
  // The module map is the target's own, so that other tools find all maps in one place.
  .target(
    name: "CHoldfastPages", path: "Sources/Adapters/System/CHoldfastPages", publicHeadersPath: "."),
  library("HoldfastLinuxEvents", at: "Adapters/LinuxEvents", uses: ["CHoldfastLinux"]),
  library(
    "HoldfastChildProcesses", at: "Adapters/ChildProcesses",
    uses: ["HoldfastCore", "CHoldfastLinux"]),
  // WebSocket over any byte stream.
  library(
    "HoldfastSocketEngine", at: "Adapters/SocketEngine",
    uses: ["HoldfastCore", "HoldfastPorts", "HoldfastProtocols"]),
  library(
    "HoldfastCurlNetwork", at: "Adapters/CurlNetwork",
    uses: [
      "HoldfastCore", "HoldfastPorts", "HoldfastProtocols", "HoldfastSocketEngine",
      "CHoldfastCurl", "CHoldfastLinux",
    ]),
  library(
    "HoldfastSQLiteStores", at: "Adapters/StoreSQLite",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastWire", "HoldfastStorage", "HoldfastFeaturePorts",
      "HoldfastPorts", "HoldfastOwnerFiles", "CHoldfastSQLite",
    ]),
  library(
    "HoldfastNodeBus", at: "Adapters/NodeBus",
    uses: [
      "HoldfastCore", "HoldfastWire", "HoldfastStorage", "HoldfastPorts", "HoldfastLinuxEvents",
    ]),
  library(
    "HoldfastPostgreSQLStores", at: "Adapters/StorePostgreSQL",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastWire", "HoldfastStorage", "HoldfastFeaturePorts",
      "HoldfastPorts", "HoldfastOwnerFiles", "HoldfastLinuxEvents", "HoldfastNodeBus",
      "CHoldfastPostgreSQL",
    ]),
  library(
    "HoldfastNATSBus", at: "Adapters/BusNATS",
    uses: [
      "HoldfastCore", "HoldfastPorts", "HoldfastLinuxEvents", "HoldfastNodeBus", "CHoldfastNATS",
    ]),
  library(
    "HoldfastRadioSocket", at: "Adapters/RadioSocket",
    uses: [
      "HoldfastCore", "HoldfastWire", "HoldfastFeaturePorts",
    ]),
  library(
    "HoldfastBlueZ", at: "Adapters/BluetoothBlueZ",
    uses: [
      "HoldfastCore", "HoldfastWire", "HoldfastFeaturePorts", "HoldfastPorts", "HoldfastLinuxBus",
    ]),
  library("HoldfastOwnerFiles", at: "Adapters/OwnerFiles", uses: ["HoldfastCore"]),
  // Apple's platforms use CryptoKit.
  library("HoldfastKeyedHashing", at: "Adapters/KeyedHashing", uses: onLinux("CHoldfastOpenSSL")),
  library(
    "HoldfastExportFiles", at: "Adapters/ExportFiles",
    uses: ["HoldfastHealth", "HoldfastOwnerFiles"] + onLinux("CHoldfastArchive")),
  library(
    "HoldfastNetlink", at: "Adapters/ReachabilityNetlink",
    uses: [
      "HoldfastCore", "HoldfastDriver", "HoldfastPorts", "CHoldfastLinux", "HoldfastLinuxEvents",
    ]),
  library(
    "HoldfastLinuxBus", at: "Adapters/LinuxBus", uses: ["CHoldfastSystemd", "HoldfastLinuxEvents"]),
  library(
    "HoldfastNetworkCost", at: "Adapters/NetworkCost",
    uses: [
      "HoldfastCore", "HoldfastDriver", "HoldfastPorts", "HoldfastLinuxBus", "HoldfastLinuxEvents",
    ]),
  library(
    "HoldfastSystemLifecycle", at: "Adapters/LifecycleSystem",
    uses: [
      "HoldfastDriver", "HoldfastPorts", "CHoldfastSystemd", "HoldfastLinuxEvents",
      "HoldfastLinuxBus",
    ]),
  library(
    "HoldfastDesktopNotifications", at: "Adapters/NotificationsDBus",
    uses: ["HoldfastPorts", "CHoldfastSystemd", "HoldfastLinuxBus"]),
  library(
    "HoldfastAPNs", at: "Adapters/PushAPNs",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastWire", "HoldfastFeaturePorts", "HoldfastPorts",
      "HoldfastOwnerFiles", "CHoldfastOpenSSL",
    ]),
  library(
    "HoldfastPushHook", at: "Adapters/PushHook",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastWire", "HoldfastFeaturePorts", "HoldfastPorts",
      "HoldfastChildProcesses",
    ]),
  library(
    "HoldfastServerSockets", at: "Adapters/ServerSockets",
    uses: [
      "HoldfastCore", "HoldfastPorts", "HoldfastProtocols", "CHoldfastLinux", "CHoldfastOpenSSL",
    ]),
]

// The ports as calls in and out of a Java virtual machine.
let javaAdapters: [Target] = [
  .target(name: "CHoldfastJNI", path: "Sources/Adapters/System/CHoldfastJNI"),
  .target(
    name: "HoldfastJNI", dependencies: ["HoldfastCore", "HoldfastPorts", "CHoldfastJNI"],
    path: "Sources/Adapters/JNI", exclude: ["Interface"], swiftSettings: strict),
]

// Adapters of Apple's frameworks. Each file is inside `#if canImport(…)`, so on Linux they are empty
// unless this package builds its stand-ins.
let appleAdapters: [Target] = [
  library(
    "HoldfastAppleNetwork", at: "Adapters/Apple/Network",
    uses: ["HoldfastCore", "HoldfastPorts", "HoldfastProtocols", "HoldfastSocketEngine"]
      + onStandIns("Network", "Security")),
  library(
    "HoldfastBackgroundUploads", at: "Adapters/Apple/Uploads",
    uses: [
      "HoldfastCore", "HoldfastPorts", "HoldfastFeaturePorts", "HoldfastWire",
      "HoldfastSocketEngine", "HoldfastAppleNetwork",
    ] + onStandIns("BackgroundSession")),
  library(
    "HoldfastAppleApp", at: "Adapters/Apple/App",
    uses: ["HoldfastCore", "HoldfastPorts"]
      + onStandIns("UIKit", "BackgroundTasks", "Security", "UserNotifications", "os")),
  library(
    "HoldfastBluetooth", at: "Adapters/Apple/Bluetooth",
    uses: ["HoldfastCore", "HoldfastPorts", "HoldfastFeaturePorts", "HoldfastWire"]
      + onStandIns("CoreBluetooth")),
  library(
    "HoldfastHealthKit", at: "Adapters/Apple/Health",
    uses: [
      "HoldfastCore", "HoldfastPorts", "HoldfastFeaturePorts", "HoldfastHealth", "HoldfastStorage",
      "HoldfastWire",
    ] + onStandIns("HealthKit")),
]

// Stand-ins for Apple's frameworks, so that tests run the adapters on Linux. They have Apple's names,
// so no other build of this package declares them.
let standIns: [Target] = [
  standIn("CoreBluetooth"), standIn("HealthKit"), standIn("BackgroundTasks"), standIn("UIKit"),
  standIn("Security"), standIn("Network"), standIn("BackgroundSession"), standIn("os"),
  standIn("SwiftUI"), standIn("UserNotifications"),
]

/// Returns tests of adapters. The toolchain's Testing has overlays for modules with Apple's names, which
/// Linux lacks.
func appleTests(_ name: String, uses: [Target.Dependency]) -> Target {
  .testTarget(
    name: name, dependencies: uses, path: "Tests/\(name)",
    swiftSettings: tested + [.unsafeFlags(["-Xfrontend", "-disable-cross-import-overlays"])])
}

let appleChecks: [Target] = [
  appleTests(
    "AppleBluetoothTests",
    uses: [
      "CoreBluetooth", "HoldfastBluetooth", "HoldfastCore", "HoldfastPorts", "HoldfastFeaturePorts",
      "HoldfastWire", "HoldfastStorage", "HoldfastTestKit", "HoldfastBottleLink",
      "HoldfastFirmware", "HoldfastVirtualBottle",
    ]),
  appleTests(
    "AppleHealthTests",
    uses: [
      "HealthKit", "HoldfastHealthKit", "HoldfastCore", "HoldfastPorts", "HoldfastFeaturePorts",
      "HoldfastHealth", "HoldfastStorage", "HoldfastWire", "HoldfastTestKit", "HoldfastHealthSync",
    ]),
  appleTests(
    "AppleAppTests",
    uses: [
      "UIKit", "BackgroundTasks", "Security", "BackgroundSession", "os", "UserNotifications",
      "HoldfastAppleApp", "HoldfastBackgroundUploads", "HoldfastCore", "HoldfastPorts",
      "HoldfastFeaturePorts", "HoldfastWire", "HoldfastTestKit",
    ]),
  appleTests(
    "AppleNetworkTests",
    uses: [
      "Network", "Security", "HoldfastAppleNetwork", "HoldfastSocketEngine", "HoldfastCore",
      "HoldfastPorts", "HoldfastProtocols", "HoldfastTestKit",
    ]),
  // The models and the delegate of an app, with all adapters.
  appleTests(
    "AppleLaunchTests",
    uses: [
      "UIKit", "BackgroundTasks", "CoreBluetooth", "HealthKit", "BackgroundSession", "Security",
      "HoldfastAppleApp", "HoldfastBluetooth", "HoldfastHealthKit", "HoldfastBackgroundUploads",
      "HoldfastUI", "Holdfast", "HoldfastSocket", "HoldfastBackend", "HoldfastServerCore",
      "HoldfastCore", "HoldfastHealth", "HoldfastWire", "HoldfastStorage", "HoldfastPorts",
      "HoldfastFeaturePorts", "HoldfastFirmware", "HoldfastVirtualBottle", "HoldfastBottleLink",
      "HoldfastHealthSync", "HoldfastTestKit",
    ]),
  // The screens, as text.
  appleTests(
    "AppleScreenTests",
    uses: [
      "SwiftUI", "HoldfastUI", "Holdfast", "HoldfastCore", "HoldfastHealth", "HoldfastWire",
      "HoldfastFeaturePorts", "HoldfastMessageStream", "HoldfastHealthRelay", "HoldfastSession",
      "HoldfastHealthSync", "HoldfastBottleLink", "HoldfastPorts", "HoldfastStorage",
      "HoldfastTestKit",
    ]),
]

// 4. What people use: the APIs for apps, the test kit, the tools.
let doors: [Target] = [
  // A held socket and the parts that all feature APIs share, without any feature that stores data.
  library(
    "HoldfastSocket", at: "HoldfastSocket",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastDriver", "HoldfastPorts", "HoldfastHeldSocket",
      "HoldfastProtocols", "HoldfastOwnerFiles",
    ]
      + onLinux("HoldfastCurlNetwork", "HoldfastNetlink")
      + onApple("HoldfastAppleNetwork", "HoldfastAppleApp"),
    resources: [.copy("Resources/PrivacyInfo.xcprivacy")]),
  library(
    "Holdfast", at: "Holdfast",
    uses: [
      "HoldfastSocket", "HoldfastCore", "HoldfastJSON", "HoldfastHealth", "HoldfastWire",
      "HoldfastStorage", "HoldfastPorts", "HoldfastFeaturePorts",
      "HoldfastMessageStream", "HoldfastHealthRelay", "HoldfastSession", "HoldfastHealthSync",
      "HoldfastBottleLink", "HoldfastProtocols", "HoldfastSQLiteStores", "HoldfastKeyedHashing",
      "HoldfastExportFiles", "HoldfastOwnerFiles",
    ]
      + onLinux(
        "HoldfastDesktopNotifications", "HoldfastRadioSocket", "HoldfastBlueZ",
        "HoldfastNetworkCost", "HoldfastSystemLifecycle"),
    resources: [.copy("Resources/PrivacyInfo.xcprivacy")]),
  // Observable models for the screens of an app.
  library(
    "HoldfastUI", at: "HoldfastUI",
    uses: [
      "Holdfast", "HoldfastCore", "HoldfastHealth", "HoldfastWire", "HoldfastStorage",
      "HoldfastFeaturePorts", "HoldfastHealthRelay", "HoldfastHealthSync", "HoldfastBottleLink",
      "HoldfastMessageStream", "HoldfastPorts", "HoldfastSession", "HoldfastAppleApp",
    ] + onStandIns("SwiftUI", "UIKit"),
    // The screens' texts.
    resources: [.process("Resources")]),
  library(
    "HoldfastTestKit", at: "TestKit",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastWire", "HoldfastStorage", "HoldfastFeaturePorts",
      "HoldfastPorts", "HoldfastDriver",
    ]
      + onLinux("HoldfastLab")),
  // Plays seeds of the simulator's worlds on all cores.
  library(
    "HoldfastSimulator", at: "Simulation",
    uses: ["HoldfastCore", "HoldfastLinkChecks", "HoldfastWorlds"]),
  library("HoldfastLab", at: "NetworkLab", uses: ["HoldfastChildProcesses"]),
  library(
    "HoldfastBackend", at: "Tools/Backend",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastHealth", "HoldfastWire", "HoldfastStorage",
      "HoldfastFeaturePorts", "HoldfastPorts", "HoldfastDriver", "HoldfastProtocols",
      "HoldfastServerCore", "HoldfastServerSockets", "HoldfastSQLiteStores",
      "HoldfastPostgreSQLStores", "HoldfastNodeBus", "HoldfastNATSBus", "CHoldfastOpenSSL",
      "HoldfastCurlNetwork", "HoldfastAPNs",
      "HoldfastPushHook", "HoldfastOwnerFiles",
      "HoldfastChildProcesses", "HoldfastKeyedHashing", "HoldfastExportFiles",
    ]),
  library(
    "HoldfastCommandKit", at: "Tools/CommandKit",
    uses: ["HoldfastCore", "HoldfastJSON", "HoldfastOwnerFiles", "HoldfastSystemLifecycle"]),
  library(
    "HoldfastDemo", at: "Tools/Demo",
    uses: [
      "HoldfastCommandKit", "Holdfast", "HoldfastBackend", "HoldfastTestKit", "HoldfastCore",
      "HoldfastJSON", "HoldfastHealth", "HoldfastWire", "HoldfastFeaturePorts", "HoldfastPorts",
      "HoldfastServerCore", "HoldfastProtocols", "HoldfastServerSockets",
      "HoldfastOwnerFiles", "HoldfastSQLiteStores", "HoldfastHealthSync", "HoldfastDriver",
      "HoldfastKeyedHashing", "HoldfastLinkChecks", "HoldfastLinkTrace", "HoldfastChildProcesses",
    ]),
  .executableTarget(
    name: "HoldfastCommand",
    dependencies: [
      "HoldfastCommandKit", "HoldfastDemo", "Holdfast", "HoldfastBackend", "HoldfastTestKit",
      "HoldfastCore", "HoldfastJSON", "HoldfastHealth", "HoldfastWire", "HoldfastStorage",
      "HoldfastFeaturePorts", "HoldfastPorts", "HoldfastSystemLifecycle", "HoldfastDriver",
      "HoldfastMessageStream",
      "HoldfastProtocols", "HoldfastHealthRelay", "HoldfastHeldSocket", "HoldfastSession",
      "HoldfastHealthSync", "HoldfastSessionAudit", "HoldfastServerCore", "HoldfastOwnerFiles",
      "HoldfastChildProcesses", "HoldfastKeyedHashing", "CHoldfastOpenSSL", "HoldfastFirmware",
      "HoldfastVirtualBottle", "HoldfastBottleLink", "HoldfastLinkChecks", "HoldfastLinkTrace",
      "HoldfastRadioSocket",
    ] + onLinux("HoldfastBlueZ"),
    path: "Sources/Tools/Command", swiftSettings: strict),
  .executableTarget(
    name: "HoldfastSimulatorCommand",
    dependencies: [
      "HoldfastCommandKit", "HoldfastSimulator", "HoldfastCore", "HoldfastJSON",
      "HoldfastDriver", "HoldfastLinkChecks", "HoldfastWorlds", "HoldfastLinkTrace",
      "HoldfastRunTraces",
      "HoldfastOwnerFiles", "HoldfastHealthRelay",
    ],
    path: "Sources/SimulatorCommand", swiftSettings: strict),
]

// 5. Benchmarks: programs of their own, so that no product contains them.
let measures: [Target] = [
  .target(
    name: "HoldfastHerd", dependencies: ["HoldfastCore", "HoldfastJSON"], path: "Benchmarks/Herd",
    swiftSettings: strict),
  .target(
    name: "HoldfastEngineBench",
    dependencies: ["HoldfastCore", "HoldfastWire", "HoldfastStorage", "HoldfastMessageStream"],
    path: "Benchmarks/Engine", swiftSettings: strict),
  .executableTarget(
    name: "HoldfastEngineLoop", dependencies: ["HoldfastEngineBench"],
    path: "Benchmarks/EngineLoop",
    swiftSettings: strict),
  // Holds thousands of sockets to any server. It is written in C, so that it is never the
  // bottleneck.
  .executableTarget(
    name: "HoldfastLoadGenerator",
    dependencies: ["CHoldfastOpenSSL", "CHoldfastZlib", "CHoldfastCurl"], path: "Benchmarks/Load",
    cSettings: [.headerSearchPath(".")], linkerSettings: [.linkedLibrary("z")]),
  .executableTarget(
    name: "HoldfastBench",
    dependencies: [
      "HoldfastCommandKit", "HoldfastCore", "HoldfastJSON", "HoldfastHealth", "HoldfastWire",
      "HoldfastStorage", "HoldfastProtocols", "HoldfastFeaturePorts", "HoldfastPorts",
      "HoldfastMessageStream", "HoldfastSession", "HoldfastCurlNetwork",
      "HoldfastServerSockets", "HoldfastSQLiteStores", "CHoldfastSQLite", "Holdfast",
      "HoldfastTestKit", "HoldfastBackend", "HoldfastServerCore", "HoldfastEngineBench",
      "HoldfastHerd", "HoldfastHealthSync", "HoldfastWorlds",
    ] + onStandIns("HoldfastAppleNetwork"),
    path: "Benchmarks/Bench",
    swiftSettings: strict + (ours ? [.define("HOLDFAST_STANDINS", .when(platforms: [.linux]))] : [])
  ),
]

let checks: [Target] = [
  tests("CoreTests", uses: ["HoldfastCore", "HoldfastTestKit"]),
  tests(
    "WireTests",
    uses: ["HoldfastCore", "HoldfastJSON", "HoldfastHealth", "HoldfastWire", "HoldfastTestKit"]),
  tests(
    "StorageTests",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastHealth", "HoldfastWire", "HoldfastStorage",
      "HoldfastFeaturePorts", "HoldfastPorts", "HoldfastTestKit",
    ]),
  tests("JSONTests", uses: ["HoldfastCore", "HoldfastJSON", "HoldfastTestKit"]),
  // Random inputs to every machine, with all invariants checked after each step.
  tests(
    "RandomInputTests",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastHealth", "HoldfastWire", "HoldfastStorage",
      "HoldfastMessageStream", "HoldfastHealthRelay", "HoldfastHeldSocket", "HoldfastSession",
      "HoldfastHealthSync", "HoldfastBottleLink", "HoldfastFirmware", "HoldfastVirtualBottle",
      "HoldfastServerCore",
    ]),
  tests(
    "HealthTests",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastHealth", "Holdfast", "HoldfastFeaturePorts",
      "HoldfastTestKit",
    ],
    besides: ["Answers/Kept", "Export/Kept"]),
  tests("ProtocolsTests", uses: ["HoldfastProtocols"]),
  tests(
    "MessageStreamTests",
    uses: [
      "HoldfastCore", "HoldfastWire", "HoldfastStorage", "HoldfastMessageStream", "HoldfastTestKit",
    ]),
  tests(
    "HealthRelayTests",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastJSON", "HoldfastWire", "HoldfastHealthRelay",
      "HoldfastTestKit",
    ]),
  tests(
    "AuditTests",
    uses: ["HoldfastCore", "HoldfastWire", "HoldfastSessionAudit", "HoldfastTestKit"],
    besides: ["Kept"]),
  tests(
    "FirmwareTests",
    uses: ["HoldfastFirmware", "HoldfastCore", "HoldfastWire", "HoldfastVirtualBottle"]),
  tests(
    "BottleLinkTests",
    uses: [
      "HoldfastCore", "HoldfastWire", "HoldfastStorage", "HoldfastFirmware",
      "HoldfastVirtualBottle", "HoldfastBottleLink", "HoldfastTestKit",
    ]),
  tests("HeldSocketTests", uses: ["HoldfastCore", "HoldfastHeldSocket", "HoldfastTestKit"]),
  tests(
    "LinkTraceTests",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastHealth", "HoldfastWire", "HoldfastStorage",
      "HoldfastProtocols", "HoldfastMessageStream", "HoldfastHealthRelay", "HoldfastHeldSocket",
      "HoldfastSession", "HoldfastHealthSync", "HoldfastBottleLink", "HoldfastLinkChecks",
      "HoldfastLinkTrace",
    ]),
  tests(
    "SessionTests",
    uses: ["HoldfastCore", "HoldfastWire", "HoldfastStorage", "HoldfastSession", "HoldfastTestKit"]),
  tests(
    "HealthSyncTests",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastWire", "HoldfastStorage", "HoldfastHealthSync",
      "HoldfastTestKit",
    ]),
  tests(
    "ServerCoreTests",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastJSON", "HoldfastWire", "HoldfastStorage",
      "HoldfastServerCore", "HoldfastTestKit",
    ]),
  tests(
    "RuntimeTests",
    uses: [
      "HoldfastCore", "HoldfastWire", "HoldfastDriver", "HoldfastPorts", "HoldfastSocket",
      "HoldfastTestKit",
    ]),
  tests(
    "CurlNetworkTests",
    uses: [
      "HoldfastCore", "HoldfastPorts", "HoldfastProtocols", "HoldfastSocketEngine",
      "HoldfastCurlNetwork", "CHoldfastCurl", "HoldfastTestKit",
    ]),
  tests(
    "StoreSQLiteTests",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastWire", "HoldfastStorage", "HoldfastFeaturePorts",
      "HoldfastDriver", "HoldfastSQLiteStores", "HoldfastOwnerFiles",
      "HoldfastTestKit",
    ]),
  tests(
    "StorePostgreSQLTests",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastWire", "HoldfastStorage", "HoldfastFeaturePorts",
      "HoldfastPorts", "HoldfastDriver", "HoldfastPostgreSQLStores", "HoldfastSQLiteStores",
      "HoldfastNodeBus", "HoldfastNATSBus", "HoldfastBackend", "HoldfastChildProcesses",
      "HoldfastTestKit",
    ]),
  tests("ExportFilesTests", uses: ["HoldfastExportFiles", "HoldfastTestKit"]),
  // Separate from HoldfastTests: an import uses all processors, and no clock waits there.
  tests(
    "HealthImportTests",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastWire", "HoldfastStorage", "HoldfastFeaturePorts",
      "HoldfastPorts", "Holdfast", "HoldfastOwnerFiles", "HoldfastTestKit", "HoldfastServerCore",
    ], besides: ["Types", "Questions"]),
  tests(
    "SystemTests",
    uses: [
      "HoldfastCore", "HoldfastFeaturePorts", "HoldfastPorts", "HoldfastDriver", "HoldfastNetlink",
      "HoldfastNetworkCost", "HoldfastSystemLifecycle", "HoldfastDesktopNotifications",
      "HoldfastChildProcesses", "CHoldfastLinux", "CHoldfastSystemd", "HoldfastLinuxBus",
      "HoldfastRadioSocket", "HoldfastBlueZ", "HoldfastFirmware", "HoldfastVirtualBottle",
      "HoldfastWire", "HoldfastTestKit",
    ]),
  tests(
    "PushTests",
    uses: [
      "HoldfastCore", "HoldfastWire", "HoldfastFeaturePorts", "HoldfastPorts",
      "HoldfastCurlNetwork", "HoldfastAPNs", "HoldfastPushHook", "HoldfastTestKit",
    ]),
  tests(
    "BackendTests",
    uses: [
      "Holdfast", "HoldfastHealthRelay", "HoldfastProtocols", "HoldfastServerSockets",
      "HoldfastBackend", "HoldfastServerCore", "HoldfastCore", "HoldfastHealth", "HoldfastWire",
      "HoldfastStorage", "HoldfastFeaturePorts", "HoldfastPorts", "CHoldfastLinux",
      "HoldfastTestKit",
    ],
    besides: ["MCP/SDK", "Identity/Kept"]),
  tests(
    "HoldfastTests",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastWire", "HoldfastStorage", "HoldfastFeaturePorts",
      "HoldfastPorts", "HoldfastDriver", "HoldfastProtocols", "HoldfastMessageStream",
      "HoldfastHealthRelay", "HoldfastHeldSocket", "HoldfastSession", "Holdfast", "HoldfastSocket",
      "HoldfastBackend", "HoldfastTestKit", "HoldfastCommandKit", "HoldfastDemo", "HoldfastLab",
      "HoldfastServerCore", "HoldfastServerSockets", "HoldfastHealthSync", "HoldfastBottleLink",
      "HoldfastLinkTrace", "HoldfastChildProcesses",
    ],
    besides: ["HeldSocket/Peers", "Session/Peers"]),
  // Separate from HoldfastTests: simulations use all processors, and no clock waits there.
  tests(
    "SimulateTests",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastWire", "HoldfastStorage", "HoldfastMessageStream",
      "HoldfastHealthRelay", "HoldfastHeldSocket", "HoldfastSession", "HoldfastHealthSync",
      "HoldfastBottleLink", "HoldfastLinkChecks", "HoldfastWorlds", "HoldfastLinkTrace",
      "HoldfastRunTraces", "HoldfastTestKit", "HoldfastLab",
    ]),
  tests("HerdTests", uses: ["HoldfastCore", "HoldfastHerd", "HoldfastTestKit", "HoldfastLab"]),
  tests(
    "RelayTests",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastWire", "HoldfastFeaturePorts", "HoldfastPorts",
      "HoldfastDriver", "HoldfastProtocols", "HoldfastServerCore", "HoldfastHealthRelay",
      "Holdfast", "HoldfastBackend", "HoldfastTestKit", "HoldfastServerSockets",
    ]),
  tests(
    "FuzzTests",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastJSON", "HoldfastWire", "HoldfastStorage",
      "HoldfastProtocols", "HoldfastDriver", "HoldfastServerCore", "HoldfastMessageStream",
      "HoldfastHeldSocket", "HoldfastFirmware",
      "HoldfastBottleLink", "HoldfastVirtualBottle", "HoldfastSQLiteStores", "HoldfastHealthSync",
      "HoldfastNetlink", "HoldfastBackend", "HoldfastServerSockets", "HoldfastSocketEngine",
      "HoldfastCommandKit", "HoldfastTestKit",
    ],
    besides: ["Corpus", "Words"]),
  tests(
    "SimulatorTests",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastWire", "HoldfastStorage", "HoldfastMessageStream",
      "HoldfastHealthRelay", "HoldfastHeldSocket", "HoldfastServerCore", "HoldfastLinkChecks",
      "HoldfastWorlds", "HoldfastSimulator", "HoldfastSession", "HoldfastHealthSync",
      "HoldfastBottleLink", "HoldfastTestKit",
    ],
    besides: ["Corpus"]),
  tests(
    "HoldfastUITests",
    uses: [
      "Holdfast", "HoldfastUI", "HoldfastTestKit", "HoldfastCore", "HoldfastHealth",
      "HoldfastFeaturePorts", "HoldfastPorts", "HoldfastWire", "HoldfastMessageStream",
      "HoldfastSession", "HoldfastStorage",
    ]),
  tests(
    "JavaTests",
    uses: [
      "HoldfastJNI", "CHoldfastJNI", "HoldfastCore", "HoldfastPorts", "HoldfastLab",
      "HoldfastTestKit",
    ],
    besides: ["Scripted"]),
  tests("ArchitectureTests", uses: []),
]

/// The targets that need Linux themselves. A Mac declares neither them nor any target that depends on
/// one.
let needLinux: Set<String> = [
  "CHoldfastCurl", "CHoldfastOpenSSL", "CHoldfastArchive", "CHoldfastSystemd", "CHoldfastLinux",
  "CHoldfastPostgreSQL", "CHoldfastNATS", "CHoldfastJNI", "HoldfastRadioSocket",
]

/// Returns the given targets with the suites that `HOLDFAST_SUITES` names, with commas. Without it all
/// suites are built; `none` names none.
///
/// Another choice links the program of all tests again, and compiles no module again.
func chosen(_ targets: [Target]) -> [Target] {
  guard ours, let words = Context.environment["HOLDFAST_SUITES"], !words.isEmpty else {
    return targets
  }
  let names = words.split(separator: ",").map(String.init).filter { $0 != "none" }
  let suites = targets.filter { $0.type == .test }.map(\.name).sorted()
  // A manifest that traps prints a report of its crash. A target without a folder is an error in one
  // line, with the path that the target names.
  let unknown = names.filter { !suites.contains($0) }.map { name in
    Target.testTarget(
      name: name, path: "(HOLDFAST_SUITES: the suites are \(suites.joined(separator: ", ")))")
  }
  return targets.filter { $0.type != .test || names.contains($0.name) } + unknown
}

/// Returns the targets that a Mac declares, which depend on each other alone.
func onAMac(_ targets: [Target]) -> [Target] {
  let names = Set(targets.map(\.name)).subtracting(needLinux)
  let declared = targets.filter { target in
    names.contains(target.name)
      && target.dependencies.allSatisfy { dependency in
        switch dependency {
        case .targetItem(let name, _), .byNameItem(let name, _): names.contains(name)
        case _: true
        }
      }
  }
  return declared.count == targets.count ? declared : onAMac(declared)
}

let everything =
  pure + runtime + adapters + javaAdapters + appleAdapters + doors + measures + checks
#if os(Linux)
  let targets = chosen(everything + (ours ? standIns + appleChecks : []))
  let programs: [Product] = [
    .executable(name: "holdfast", targets: ["HoldfastCommand"]),
    .executable(name: "holdfast-sim", targets: ["HoldfastSimulatorCommand"]),
  ]
#else
  let targets = chosen(onAMac(everything))
  let programs: [Product] = []
#endif

let package = Package(
  name: "Holdfast",
  defaultLocalization: "en",
  platforms: [.macOS(.v15), .iOS(.v18), .watchOS(.v11), .tvOS(.v18), .visionOS(.v2)],
  products: [
    .library(name: "Holdfast", targets: ["Holdfast"]),
    // The smallest product, imported as HoldfastSocket.
    .library(name: "HoldfastSocket", targets: ["HoldfastSocket"]),
    // With the adapters that an app creates at its launch.
    .library(
      name: "HoldfastUI",
      targets: ["HoldfastUI", "HoldfastAppleApp", "HoldfastBackgroundUploads"]),
    // The adapters of Core Bluetooth and HealthKit, which bring an app questions at review.
    .library(name: "HoldfastBluetooth", targets: ["HoldfastBluetooth"]),
    .library(name: "HoldfastHealthKit", targets: ["HoldfastHealthKit"]),
    .library(name: "HoldfastTestKit", targets: ["HoldfastTestKit"]),
    // The ports, for adapters that an app writes itself.
    .library(name: "HoldfastPorts", targets: ["HoldfastPorts", "HoldfastFeaturePorts"]),
    .library(name: "HoldfastCore", targets: ["HoldfastCore"]),
    .library(name: "HoldfastSimulator", targets: ["HoldfastSimulator"]),
  ] + programs,
  targets: targets
)
