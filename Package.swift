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

/// The settings of generic modules that the world of each feature specializes. Without them no body of
/// a function is in the module file, and a simulated run takes two to four times as long.
///
/// A package with such settings cannot be a dependency.
let specialized: [SwiftSetting] =
  Context.environment["HOLDFAST_SPECIALIZE"] != nil
  ? [
    .unsafeFlags(
      ["-cross-module-optimization", "-no-emit-module-separately-wmo"],
      optimised.isEmpty ? .when(configuration: .release) : nil)
  ] : []

func played(
  _ name: String, at path: String, uses: [Target.Dependency] = [], with more: [SwiftSetting] = []
) -> Target {
  library(name, at: path, uses: uses, with: optimised + more)
}

/// Returns a system library. One in Apple's SDKs has no `pkgConfig`, since the answer of another
/// package manager would apply to a Mac and not to a phone.
func system(_ name: String, _ pkgConfig: String? = nil, apt: String) -> Target {
  .systemLibrary(
    name: name, path: "Sources/Base/System/\(name)", pkgConfig: pkgConfig,
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
  played("HoldfastCore", at: "Base/Core"),
  played("HoldfastJSON", at: "Base/JSON", uses: ["HoldfastCore"]),
  played("HoldfastUploads", at: "Base/Uploads", uses: ["HoldfastCore", "HoldfastJSON"]),
  played("HoldfastHealthSamples", at: "Health/Samples", uses: ["HoldfastCore"]),
  played(
    "HoldfastHealth", at: "Health/Data",
    uses: ["HoldfastCore", "HoldfastJSON", "HoldfastHealthSamples"]),
  // The data of each feature: on the wire, and as it is stored.
  played("HoldfastMessageData", at: "Messages/Data", uses: ["HoldfastCore", "HoldfastJSON"]),
  played(
    "HoldfastRelayData", at: "Health/Relay/Data",
    uses: ["HoldfastCore", "HoldfastJSON", "HoldfastHealth", "HoldfastMessageData"]),
  played(
    "HoldfastSyncData", at: "Health/Sync/Data",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastUploads", "HoldfastHealth", "HoldfastHealthSamples",
    ]),
  played("HoldfastSessionData", at: "Session/Data", uses: ["HoldfastCore", "HoldfastJSON"]),
  played("HoldfastBottleData", at: "Bottle/Data", uses: ["HoldfastCore"]),
  played("HoldfastFirmware", at: "Bottle/Firmware"),
  played(
    "HoldfastVirtualBottle", at: "Bottle/Virtual",
    uses: ["HoldfastFirmware", "HoldfastCore", "HoldfastBottleData"]),
  library("HoldfastProtocols", at: "Base/Protocols", uses: ["CHoldfastZlib"]),
  // The pages of `Web/built`. No module of an app uses it.
  played("HoldfastPages", at: "Base/Pages", uses: ["CHoldfastPages"]),
  played(
    "HoldfastMessageStream", at: "Messages/Phone",
    uses: ["HoldfastCore", "HoldfastMessageData"]),
  played(
    "HoldfastHealthRelay", at: "Health/Relay/Phone",
    uses: ["HoldfastCore", "HoldfastHealth", "HoldfastRelayData"]),
  played("HoldfastHeldSocket", at: "HeldSocket/Phone", uses: ["HoldfastCore"]),
  library(
    "HoldfastSessionAudit", at: "Session/Audit",
    uses: ["HoldfastCore", "HoldfastJSON", "HoldfastSessionData"]),
  played(
    "HoldfastSession", at: "Session/Phone",
    uses: ["HoldfastCore", "HoldfastSessionData"]),
  played(
    "HoldfastBottleLink", at: "Bottle/Phone",
    uses: ["HoldfastCore", "HoldfastBottleData"]),
  played(
    "HoldfastHealthSync", at: "Health/Sync/Phone",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastUploads", "HoldfastSyncData",
      "HoldfastHealthSamples",
    ]),
  // The backend's rules: what services share, and those of each feature.
  played("HoldfastServerData", at: "Server/Data", uses: ["HoldfastCore"]),
  played(
    "HoldfastServerParts", at: "Server/Parts",
    uses: ["HoldfastCore", "HoldfastJSON", "HoldfastUploads", "HoldfastPages"]),
  played(
    "HoldfastIdentity", at: "Server/Identity",
    uses: ["HoldfastCore", "HoldfastJSON", "HoldfastMessageData", "HoldfastServerParts"]),
  played(
    "HoldfastMessageServer", at: "Messages/Server",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastUploads", "HoldfastMessageData",
      "HoldfastServerParts", "HoldfastIdentity",
    ]),
  played(
    "HoldfastRelayServer", at: "Health/Relay/Server",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastHealth", "HoldfastRelayData", "HoldfastServerParts",
    ]),
  played(
    "HoldfastSyncServer", at: "Health/Sync/Server",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastUploads", "HoldfastHealth", "HoldfastSyncData",
      "HoldfastPages", "HoldfastServerParts", "HoldfastHealthSamples",
    ]),
  played(
    "HoldfastSessionServer", at: "Session/Server",
    uses: ["HoldfastCore", "HoldfastSessionData", "HoldfastServerParts", "HoldfastIdentity"]),
  played(
    "HoldfastAssistants", at: "Assistants/Server",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastHealth", "HoldfastRelayData", "HoldfastPages",
      "HoldfastServerParts", "HoldfastRelayServer",
    ]),
  played(
    "HoldfastOperators", at: "Server/Operators",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastMessageData", "HoldfastServerParts",
      "HoldfastIdentity", "HoldfastMessageServer", "HoldfastRelayServer", "HoldfastRelayData",
    ]),
  // What is observed of links, and the checkers that a journal is enough for.
  played("HoldfastLinkChecks", at: "Base/LinkChecks", uses: ["HoldfastCore"], with: specialized),
  played(
    "HoldfastMessageChecks", at: "Messages/Checks",
    uses: ["HoldfastCore", "HoldfastLinkChecks", "HoldfastMessageData", "HoldfastMessageStream"]),
  played(
    "HoldfastRelayChecks", at: "Health/Relay/Checks",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastHealthRelay", "HoldfastLinkChecks",
      "HoldfastRelayData", "HoldfastRelayServer",
    ]),
  played(
    "HoldfastSyncChecks", at: "Health/Sync/Checks",
    uses: [
      "HoldfastCore", "HoldfastHealthSamples", "HoldfastHealthSync", "HoldfastLinkChecks",
      "HoldfastSyncData", "HoldfastUploads",
    ]),
  played(
    "HoldfastSessionChecks", at: "Session/Checks",
    uses: ["HoldfastCore", "HoldfastLinkChecks", "HoldfastSession", "HoldfastSessionData"]),
  played(
    "HoldfastBottleChecks", at: "Bottle/Checks",
    uses: ["HoldfastBottleData", "HoldfastBottleLink", "HoldfastCore", "HoldfastLinkChecks"]),
  played(
    "HoldfastHeldChecks", at: "HeldSocket/Checks",
    uses: ["HoldfastCore", "HoldfastHeldSocket", "HoldfastLinkChecks"]),
  // The simulator, and the world of each feature.
  played(
    "HoldfastWorldKernel", at: "Simulator/Kernel",
    uses: ["HoldfastCore", "HoldfastLinkChecks"],
    with: specialized),
  played(
    "HoldfastMessageWorld", at: "Messages/World",
    uses: [
      "HoldfastMessageChecks",
      "HoldfastCore", "HoldfastJSON", "HoldfastUploads", "HoldfastMessageData",
      "HoldfastServerData", "HoldfastServerParts", "HoldfastIdentity", "HoldfastMessageServer",
      "HoldfastLinkChecks", "HoldfastMessageStream", "HoldfastWorldKernel",
    ]),
  played(
    "HoldfastRelayWorld", at: "Health/Relay/World",
    uses: [
      "HoldfastRelayChecks",
      "HoldfastCore", "HoldfastHealth", "HoldfastRelayData", "HoldfastServerParts",
      "HoldfastRelayServer", "HoldfastLinkChecks", "HoldfastHealthRelay", "HoldfastWorldKernel",
    ]),
  played(
    "HoldfastSyncWorld", at: "Health/Sync/World",
    uses: [
      "HoldfastSyncChecks",
      "HoldfastCore", "HoldfastJSON", "HoldfastHealth", "HoldfastUploads", "HoldfastSyncData",
      "HoldfastServerParts", "HoldfastSyncServer", "HoldfastLinkChecks", "HoldfastHealthSync",
      "HoldfastHealthSamples", "HoldfastWorldKernel",
    ]),
  played(
    "HoldfastSessionWorld", at: "Session/World",
    uses: [
      "HoldfastSessionChecks",
      "HoldfastCore", "HoldfastJSON", "HoldfastSessionData", "HoldfastServerParts",
      "HoldfastSessionServer", "HoldfastLinkChecks", "HoldfastSession", "HoldfastWorldKernel",
    ]),
  played(
    "HoldfastBottleWorld", at: "Bottle/World",
    uses: [
      "HoldfastBottleChecks",
      "HoldfastCore", "HoldfastBottleData", "HoldfastLinkChecks", "HoldfastFirmware",
      "HoldfastBottleLink", "HoldfastVirtualBottle", "HoldfastWorldKernel",
    ]),
  played(
    "HoldfastHeldWorld", at: "HeldSocket/World",
    uses: [
      "HoldfastHeldChecks", "HoldfastCore", "HoldfastLinkChecks", "HoldfastHeldSocket",
      "HoldfastWorldKernel",
    ]),
  played(
    "HoldfastWorlds", at: "Simulator/Worlds",
    uses: [
      "HoldfastMessageChecks", "HoldfastRelayChecks", "HoldfastSyncChecks", "HoldfastSessionChecks",
      "HoldfastBottleChecks", "HoldfastHeldChecks",
      "HoldfastLinkChecks",
      "HoldfastBottleWorld", "HoldfastHeldWorld", "HoldfastMessageWorld",
      "HoldfastRelayWorld", "HoldfastSessionWorld", "HoldfastSyncWorld", "HoldfastWorldKernel",
    ]),
  // Traces of runs, which pictures show.
  played(
    "HoldfastLinkTrace", at: "Tools/LinkTrace",
    uses: [
      "HoldfastMessageChecks", "HoldfastRelayChecks", "HoldfastSyncChecks", "HoldfastSessionChecks",
      "HoldfastBottleChecks", "HoldfastHeldChecks",
      "HoldfastCore", "HoldfastJSON", "HoldfastSessionData", "HoldfastLinkChecks",
      "HoldfastMessageStream", "HoldfastHealthRelay", "HoldfastHeldSocket", "HoldfastSession",
      "HoldfastHealthSync", "HoldfastBottleLink", "HoldfastProtocols", "HoldfastPages",
      "HoldfastUploads", "HoldfastMessageData", "HoldfastSyncData", "HoldfastBottleData",
    ]),
  // Traces of simulated runs.
  played(
    "HoldfastRunTraces", at: "Simulator/Traces",
    uses: ["HoldfastCore", "HoldfastLinkChecks", "HoldfastLinkTrace", "HoldfastWorlds"]),
]

// 2. Runtime: the only place that owns tasks and time.
let runtime: [Target] = [
  library("HoldfastPorts", at: "Base/Ports", uses: ["HoldfastCore"]),
  library("HoldfastDriver", at: "Base/Driver", uses: ["HoldfastCore", "HoldfastPorts"]),
  // The ports of the features.
  library(
    "HoldfastFeaturePorts", at: "Base/FeaturePorts",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastUploads", "HoldfastMessageData",
      "HoldfastRelayData", "HoldfastSyncData", "HoldfastSessionData", "HoldfastBottleData",
      "HoldfastPorts", "HoldfastHealthSamples",
    ]),
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
  .target(name: "CHoldfastLinux", path: "Sources/Base/System/CHoldfastLinux"),
  // The module map is the target's own, so that other tools find all maps in one place.
  .target(
    name: "CHoldfastPages", path: "Sources/Base/System/CHoldfastPages", publicHeadersPath: "."),
  library("HoldfastLinuxEvents", at: "Base/LinuxEvents", uses: ["CHoldfastLinux"]),
  library(
    "HoldfastChildProcesses", at: "Base/ChildProcesses",
    uses: ["HoldfastCore", "CHoldfastLinux"]),
  // WebSocket over any byte stream.
  library(
    "HoldfastSocketEngine", at: "Base/SocketEngine",
    uses: ["HoldfastCore", "HoldfastPorts", "HoldfastProtocols"]),
  library(
    "HoldfastCurlNetwork", at: "Base/CurlNetwork",
    uses: [
      "HoldfastCore", "HoldfastPorts", "HoldfastProtocols", "HoldfastSocketEngine",
      "CHoldfastCurl", "CHoldfastLinux",
    ]),
  library(
    "HoldfastSQLiteStores", at: "Stores/SQLite",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastMessageData", "HoldfastRelayData",
      "HoldfastSyncData", "HoldfastSessionData", "HoldfastBottleData", "HoldfastServerData",
      "HoldfastFeaturePorts", "HoldfastPorts", "HoldfastOwnerFiles", "CHoldfastSQLite",
      "HoldfastUploads", "HoldfastHealthSamples",
    ]),
  library(
    "HoldfastNodeBus", at: "Server/NodeBus",
    uses: [
      "HoldfastCore", "HoldfastMessageData", "HoldfastPorts", "HoldfastLinuxEvents",
      "CHoldfastNATS",
    ]),
  library(
    "HoldfastPostgreSQLStores", at: "Stores/PostgreSQL",
    uses: [
      "HoldfastCore", "HoldfastMessageData", "HoldfastRelayData",
      "HoldfastSyncData", "HoldfastSessionData", "HoldfastServerData", "HoldfastFeaturePorts",
      "HoldfastPorts", "HoldfastOwnerFiles", "HoldfastLinuxEvents", "HoldfastNodeBus",
      "CHoldfastPostgreSQL", "HoldfastHealthSamples",
    ]),
  library(
    "HoldfastRadioSocket", at: "Bottle/RadioSocket",
    uses: ["HoldfastCore", "HoldfastBottleData", "HoldfastFeaturePorts"]),
  library(
    "HoldfastBlueZ", at: "Bottle/BlueZ",
    uses: [
      "HoldfastCore", "HoldfastBottleData", "HoldfastFeaturePorts", "HoldfastPorts",
      "HoldfastLinuxDevice",
    ]),
  library("HoldfastOwnerFiles", at: "Base/OwnerFiles", uses: ["HoldfastCore"]),
  // Apple's platforms use CryptoKit.
  library("HoldfastKeyedHashing", at: "Base/KeyedHashing", uses: onLinux("CHoldfastOpenSSL")),
  library(
    "HoldfastExportFiles", at: "Health/ExportFiles",
    uses: ["HoldfastHealthSamples", "HoldfastOwnerFiles"]
      + onLinux("CHoldfastArchive")),
  library(
    "HoldfastNetlink", at: "Base/Reachability",
    uses: [
      "HoldfastCore", "HoldfastDriver", "HoldfastPorts", "CHoldfastLinux", "HoldfastLinuxEvents",
    ]),
  library(
    "HoldfastLinuxDevice", at: "Base/LinuxDevice",
    uses: [
      "HoldfastCore", "HoldfastDriver", "HoldfastPorts", "CHoldfastSystemd", "HoldfastLinuxEvents",
    ]),
  library(
    "HoldfastPush", at: "Server/Push",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastRelayData", "HoldfastIdentity",
      "HoldfastFeaturePorts", "HoldfastPorts", "HoldfastOwnerFiles", "CHoldfastOpenSSL",
      "HoldfastChildProcesses",
    ]),
  library(
    "HoldfastServerSockets", at: "Server/Sockets",
    uses: [
      "HoldfastCore", "HoldfastPorts", "HoldfastProtocols", "CHoldfastLinux", "CHoldfastOpenSSL",
    ]),
]

// The ports as calls in and out of a Java virtual machine.
let javaAdapters: [Target] = [
  .target(name: "CHoldfastJNI", path: "Sources/Base/System/CHoldfastJNI"),
  .target(
    name: "HoldfastJNI", dependencies: ["HoldfastCore", "HoldfastPorts", "CHoldfastJNI"],
    path: "Sources/Android/JNI", exclude: ["Interface"], swiftSettings: strict),
]

// Adapters of Apple's frameworks. Each file is inside `#if canImport(…)`, so on Linux they are empty
// unless this package builds its stand-ins.
let appleAdapters: [Target] = [
  library(
    "HoldfastAppleNetwork", at: "Apple/Network",
    uses: ["HoldfastCore", "HoldfastPorts", "HoldfastProtocols", "HoldfastSocketEngine"]
      + onStandIns("Network", "Security")),
  library(
    "HoldfastBackgroundUploads", at: "Apple/Uploads",
    uses: [
      "HoldfastCore", "HoldfastPorts", "HoldfastFeaturePorts", "HoldfastUploads",
      "HoldfastSyncData", "HoldfastSocketEngine", "HoldfastAppleNetwork",
    ] + onStandIns("BackgroundSession")),
  library(
    "HoldfastAppleApp", at: "Apple/App",
    uses: ["HoldfastCore", "HoldfastPorts"]
      + onStandIns("UIKit", "BackgroundTasks", "Security", "UserNotifications", "os")),
  library(
    "HoldfastBluetooth", at: "Apple/Bluetooth",
    uses: ["HoldfastCore", "HoldfastPorts", "HoldfastFeaturePorts", "HoldfastBottleData"]
      + onStandIns("CoreBluetooth")),
  library(
    "HoldfastHealthKit", at: "Apple/Health",
    uses: [
      "HoldfastCore", "HoldfastPorts", "HoldfastFeaturePorts", "HoldfastHealth", "HoldfastSyncData",
      "HoldfastHealthSamples",
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
      "HoldfastBottleData", "HoldfastTestKit", "HoldfastBottleLink", "HoldfastFirmware",
      "HoldfastVirtualBottle",
    ]),
  appleTests(
    "AppleHealthTests",
    uses: [
      "HealthKit", "HoldfastHealthKit", "HoldfastCore", "HoldfastPorts", "HoldfastFeaturePorts",
      "HoldfastHealth", "HoldfastHealthSamples", "HoldfastSyncData", "HoldfastTestKit",
      "HoldfastHealthSync",
    ]),
  appleTests(
    "AppleAppTests",
    uses: [
      "UIKit", "BackgroundTasks", "Security", "BackgroundSession", "os", "UserNotifications",
      "HoldfastAppleApp", "HoldfastBackgroundUploads", "HoldfastCore", "HoldfastPorts",
      "HoldfastFeaturePorts", "HoldfastUploads", "HoldfastSyncData", "HoldfastTestKit",
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
      "HoldfastUI", "Holdfast", "HoldfastSocket", "HoldfastBackend", "HoldfastMessageData",
      "HoldfastSyncData", "HoldfastBottleData", "HoldfastCore", "HoldfastPorts",
      "HoldfastFeaturePorts", "HoldfastFirmware", "HoldfastVirtualBottle", "HoldfastBottleLink",
      "HoldfastHealthSync", "HoldfastTestKit",
    ]),
  // The screens, as text.
  appleTests(
    "AppleScreenTests",
    uses: [
      "SwiftUI", "HoldfastUI", "Holdfast", "HoldfastCore", "HoldfastHealth", "HoldfastMessageData",
      "HoldfastRelayData", "HoldfastSyncData", "HoldfastSessionData", "HoldfastBottleData",
      "HoldfastRelayServer", "HoldfastFeaturePorts", "HoldfastMessageStream", "HoldfastHealthRelay",
      "HoldfastSession", "HoldfastHealthSync", "HoldfastBottleLink", "HoldfastPorts",
      "HoldfastTestKit", "HoldfastHealthSamples",
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
      "HoldfastSocket", "HoldfastCore", "HoldfastJSON", "HoldfastHealth", "HoldfastUploads",
      "HoldfastHealthSamples", "HoldfastMessageData", "HoldfastRelayData", "HoldfastSyncData",
      "HoldfastSessionData", "HoldfastBottleData", "HoldfastPorts", "HoldfastFeaturePorts",
      "HoldfastMessageStream", "HoldfastHealthRelay", "HoldfastSession", "HoldfastHealthSync",
      "HoldfastBottleLink", "HoldfastProtocols", "HoldfastSQLiteStores", "HoldfastKeyedHashing",
      "HoldfastExportFiles", "HoldfastOwnerFiles",
    ]
      + onLinux("HoldfastLinuxDevice", "HoldfastRadioSocket", "HoldfastBlueZ"),
    resources: [.copy("Resources/PrivacyInfo.xcprivacy")]),
  // Observable models for the screens of an app.
  library(
    "HoldfastUI", at: "HoldfastUI",
    uses: [
      "Holdfast", "HoldfastCore", "HoldfastHealth", "HoldfastMessageData", "HoldfastRelayData",
      "HoldfastSyncData", "HoldfastSessionData", "HoldfastBottleData", "HoldfastFeaturePorts",
      "HoldfastHealthRelay", "HoldfastHealthSync", "HoldfastBottleLink",
      "HoldfastMessageStream", "HoldfastPorts", "HoldfastSession", "HoldfastAppleApp",
    ] + onStandIns("SwiftUI", "UIKit"),
    // The screens' texts.
    resources: [.process("Resources")]),
  library(
    "HoldfastTestKit", at: "TestKit",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastUploads", "HoldfastMessageData",
      "HoldfastRelayData", "HoldfastSyncData", "HoldfastSessionData", "HoldfastBottleData",
      "HoldfastFeaturePorts", "HoldfastPorts", "HoldfastDriver", "HoldfastHealthSamples",
    ]
      + onLinux("HoldfastLab")),
  // Plays seeds of the simulator's worlds on all cores.
  library(
    "HoldfastSimulator", at: "Simulator/Simulation",
    uses: [
      "HoldfastMessageChecks", "HoldfastRelayChecks", "HoldfastSyncChecks", "HoldfastSessionChecks",
      "HoldfastBottleChecks", "HoldfastHeldChecks", "HoldfastCore", "HoldfastLinkChecks",
      "HoldfastWorlds",
    ]),
  library("HoldfastLab", at: "Tools/NetworkLab", uses: ["HoldfastChildProcesses"]),
  library(
    "HoldfastBackups", at: "Server/Backups",
    uses: [
      "HoldfastCore", "HoldfastExportFiles", "HoldfastKeyedHashing", "HoldfastOperators",
      "HoldfastOwnerFiles", "HoldfastPorts", "HoldfastPostgreSQLStores", "HoldfastSQLiteStores",
      "HoldfastServerData",
    ]),
  library(
    "HoldfastBackend", at: "Server/Backend",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastHealth", "HoldfastMessageData", "HoldfastRelayData",
      "HoldfastSyncData", "HoldfastSessionData", "HoldfastServerData", "HoldfastServerParts",
      "HoldfastIdentity", "HoldfastMessageServer", "HoldfastRelayServer", "HoldfastSyncServer",
      "HoldfastSessionServer", "HoldfastAssistants", "HoldfastOperators", "HoldfastFeaturePorts",
      "HoldfastPorts", "HoldfastDriver", "HoldfastProtocols", "HoldfastServerSockets",
      "HoldfastSQLiteStores", "HoldfastPostgreSQLStores", "HoldfastNodeBus", "CHoldfastOpenSSL",
      "HoldfastCurlNetwork", "HoldfastPush", "HoldfastOwnerFiles", "HoldfastChildProcesses",
      "HoldfastKeyedHashing", "HoldfastUploads",
    ]),
  library(
    "HoldfastCommandKit", at: "Tools/CommandKit",
    uses: ["HoldfastCore", "HoldfastJSON", "HoldfastOwnerFiles", "HoldfastLinuxDevice"]),
  library(
    "HoldfastDemo", at: "Tools/Demo",
    uses: [
      "HoldfastMessageChecks", "HoldfastRelayChecks", "HoldfastSyncChecks", "HoldfastSessionChecks",
      "HoldfastBottleChecks", "HoldfastHeldChecks",
      "HoldfastCommandKit", "HoldfastCommandParts", "Holdfast", "HoldfastBackend",
      "HoldfastTestKit",
      "HoldfastCore", "HoldfastJSON", "HoldfastMessageData", "HoldfastMessageServer",
      "HoldfastFeaturePorts", "HoldfastPorts", "HoldfastProtocols", "HoldfastServerSockets",
      "HoldfastOwnerFiles", "HoldfastSQLiteStores", "HoldfastHealthSync", "HoldfastDriver",
      "HoldfastKeyedHashing", "HoldfastLinkChecks", "HoldfastLinkTrace", "HoldfastChildProcesses",
      "HoldfastHealthSamples",
    ]),
  library(
    "HoldfastCommandParts", at: "Tools/CommandParts",
    uses: [
      "CHoldfastOpenSSL", "Holdfast", "HoldfastChildProcesses", "HoldfastCommandKit",
      "HoldfastCore", "HoldfastFeaturePorts", "HoldfastHealth", "HoldfastJSON",
      "HoldfastMessageData",
      "HoldfastOwnerFiles", "HoldfastPorts", "HoldfastLinuxDevice",
    ]),
  library(
    "HoldfastMessageCommands", at: "Messages/Command",
    uses: [
      "Holdfast", "HoldfastCommandKit", "HoldfastCommandParts", "HoldfastCore",
      "HoldfastFeaturePorts", "HoldfastJSON", "HoldfastMessageData", "HoldfastMessageStream",
      "HoldfastOwnerFiles", "HoldfastPorts",
    ]),
  library(
    "HoldfastHealthCommands", at: "Health/Command",
    uses: [
      "Holdfast", "HoldfastAssistants", "HoldfastCommandKit", "HoldfastCommandParts",
      "HoldfastCore", "HoldfastDriver", "HoldfastFeaturePorts", "HoldfastHealth",
      "HoldfastHealthRelay", "HoldfastHealthSamples", "HoldfastHealthSync", "HoldfastJSON",
      "HoldfastPorts", "HoldfastRelayData", "HoldfastSyncData", "HoldfastTestKit",
      "HoldfastUploads",
    ]),
  library(
    "HoldfastSessionCommands", at: "Session/Command",
    uses: [
      "Holdfast", "HoldfastCommandKit", "HoldfastCommandParts", "HoldfastCore",
      "HoldfastFeaturePorts", "HoldfastJSON", "HoldfastKeyedHashing", "HoldfastPorts",
      "HoldfastSession", "HoldfastSessionAudit", "HoldfastSessionData",
    ]),
  library(
    "HoldfastBottleCommands", at: "Bottle/Command",
    uses: [
      "Holdfast", "HoldfastBottleData", "HoldfastBottleLink", "HoldfastCommandKit",
      "HoldfastCommandParts", "HoldfastCore", "HoldfastFeaturePorts", "HoldfastFirmware",
      "HoldfastJSON", "HoldfastOwnerFiles", "HoldfastPorts", "HoldfastRadioSocket",
      "HoldfastVirtualBottle",
    ] + onLinux("HoldfastBlueZ")),
  library(
    "HoldfastHeldCommands", at: "HeldSocket/Command",
    uses: [
      "Holdfast", "HoldfastCommandKit", "HoldfastCommandParts", "HoldfastCore",
      "HoldfastHeldSocket", "HoldfastJSON", "HoldfastProtocols",
    ]),
  library(
    "HoldfastServerCommands", at: "Server/Command",
    uses: [
      "Holdfast", "HoldfastAssistants", "HoldfastBackend", "HoldfastBackups", "HoldfastCommandKit",
      "HoldfastCommandParts", "HoldfastCore", "HoldfastFeaturePorts", "HoldfastIdentity",
      "HoldfastJSON", "HoldfastMessageData", "HoldfastMessageServer", "HoldfastOperators",
      "HoldfastPorts", "HoldfastRelayServer", "HoldfastServerParts", "HoldfastSessionServer",
      "HoldfastLinuxDevice",
    ]),
  .executableTarget(
    name: "HoldfastCommand",
    dependencies: [
      "HoldfastBottleChecks", "HoldfastBottleCommands", "HoldfastBottleLink",
      "HoldfastChildProcesses", "HoldfastCommandKit", "HoldfastCore", "HoldfastDemo",
      "HoldfastDriver", "HoldfastHealthCommands", "HoldfastHealthRelay", "HoldfastHealthSync",
      "HoldfastHeldChecks", "HoldfastHeldCommands", "HoldfastHeldSocket", "HoldfastJSON",
      "HoldfastLinkChecks", "HoldfastLinkTrace", "HoldfastMessageChecks", "HoldfastMessageCommands",
      "HoldfastMessageStream", "HoldfastOwnerFiles", "HoldfastRelayChecks",
      "HoldfastServerCommands", "HoldfastSession", "HoldfastSessionChecks",
      "HoldfastSessionCommands", "HoldfastSyncChecks",
    ],
    path: "Sources/Tools/Command", swiftSettings: strict),
  .executableTarget(
    name: "HoldfastSimulatorCommand",
    dependencies: [
      "HoldfastMessageChecks", "HoldfastRelayChecks", "HoldfastSyncChecks", "HoldfastSessionChecks",
      "HoldfastBottleChecks", "HoldfastHeldChecks",
      "HoldfastCommandKit", "HoldfastSimulator", "HoldfastCore", "HoldfastJSON",
      "HoldfastDriver", "HoldfastLinkChecks", "HoldfastWorlds", "HoldfastLinkTrace",
      "HoldfastRunTraces",
      "HoldfastOwnerFiles", "HoldfastHealthRelay",
    ],
    path: "Sources/Simulator/Command", swiftSettings: strict),
]

// 5. Benchmarks: programs of their own, so that no product contains them.
let measures: [Target] = [
  .target(
    name: "HoldfastHerd", dependencies: ["HoldfastCore", "HoldfastJSON"], path: "Benchmarks/Herd",
    swiftSettings: strict),
  .target(
    name: "HoldfastEngineBench",
    dependencies: ["HoldfastCore", "HoldfastMessageData", "HoldfastMessageStream"],
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
      "HoldfastCommandKit", "HoldfastCore", "HoldfastJSON", "HoldfastHealth",
      "HoldfastHealthSamples", "HoldfastMessageData", "HoldfastSyncData", "HoldfastProtocols",
      "HoldfastFeaturePorts", "HoldfastPorts", "HoldfastMessageStream", "HoldfastSession",
      "HoldfastCurlNetwork", "HoldfastServerSockets", "HoldfastSQLiteStores", "CHoldfastSQLite",
      "Holdfast", "HoldfastTestKit", "HoldfastBackend", "HoldfastEngineBench", "HoldfastHerd",
      "HoldfastHealthSync", "HoldfastWorlds", "HoldfastMessageServer", "HoldfastSessionServer",
    ] + onStandIns("HoldfastAppleNetwork"),
    path: "Benchmarks/Bench",
    swiftSettings: strict + (ours ? [.define("HOLDFAST_STANDINS", .when(platforms: [.linux]))] : [])
  ),
]

let checks: [Target] = [
  tests("CoreTests", uses: ["HoldfastCore", "HoldfastTestKit"]),
  tests(
    "WireTests",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastHealth", "HoldfastUploads", "HoldfastMessageData",
      "HoldfastRelayData", "HoldfastSyncData", "HoldfastSessionData", "HoldfastBottleData",
      "HoldfastIdentity", "HoldfastRelayServer", "HoldfastTestKit",
    ]),
  tests(
    "StorageTests",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastHealth", "HoldfastUploads", "HoldfastMessageData",
      "HoldfastRelayData", "HoldfastSyncData", "HoldfastSessionData", "HoldfastBottleData",
      "HoldfastServerData", "HoldfastFeaturePorts", "HoldfastPorts", "HoldfastTestKit",
      "HoldfastHealthSamples",
    ]),
  tests("JSONTests", uses: ["HoldfastCore", "HoldfastJSON", "HoldfastTestKit"]),
  // Random inputs to every machine, with all invariants checked after each step.
  tests(
    "RandomInputTests",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastHealth", "HoldfastUploads", "HoldfastMessageData",
      "HoldfastRelayData", "HoldfastSyncData", "HoldfastSessionData", "HoldfastBottleData",
      "HoldfastServerParts", "HoldfastIdentity", "HoldfastMessageServer", "HoldfastRelayServer",
      "HoldfastSyncServer", "HoldfastSessionServer", "HoldfastAssistants", "HoldfastMessageStream",
      "HoldfastHealthRelay", "HoldfastHeldSocket", "HoldfastSession", "HoldfastHealthSync",
      "HoldfastBottleLink", "HoldfastFirmware", "HoldfastVirtualBottle", "HoldfastHealthSamples",
    ]),
  tests(
    "HealthTests",
    uses: [
      "HoldfastCore", "HoldfastJSON", "HoldfastHealth", "Holdfast", "HoldfastFeaturePorts",
      "HoldfastTestKit", "HoldfastHealthSamples",
    ],
    besides: ["Answers/Kept", "Export/Kept"]),
  tests("ProtocolsTests", uses: ["HoldfastProtocols"]),
  tests(
    "MessageStreamTests",
    uses: ["HoldfastCore", "HoldfastMessageData", "HoldfastMessageStream", "HoldfastTestKit"]),
  tests(
    "HealthRelayTests",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastJSON", "HoldfastRelayData", "HoldfastRelayServer",
      "HoldfastHealthRelay", "HoldfastTestKit",
    ]),
  tests(
    "AuditTests",
    uses: ["HoldfastCore", "HoldfastSessionData", "HoldfastSessionAudit", "HoldfastTestKit"],
    besides: ["Kept"]),
  tests(
    "FirmwareTests",
    uses: ["HoldfastFirmware", "HoldfastCore", "HoldfastBottleData", "HoldfastVirtualBottle"]),
  tests(
    "BottleLinkTests",
    uses: [
      "HoldfastCore", "HoldfastBottleData", "HoldfastFirmware", "HoldfastVirtualBottle",
      "HoldfastBottleLink", "HoldfastTestKit",
    ]),
  tests("HeldSocketTests", uses: ["HoldfastCore", "HoldfastHeldSocket", "HoldfastTestKit"]),
  tests(
    "LinkTraceTests",
    uses: [
      "HoldfastHeldChecks",
      "HoldfastCore", "HoldfastJSON", "HoldfastHealth", "HoldfastProtocols",
      "HoldfastMessageStream", "HoldfastHealthRelay", "HoldfastHeldSocket", "HoldfastSession",
      "HoldfastHealthSync", "HoldfastBottleLink", "HoldfastLinkChecks", "HoldfastLinkTrace",
    ]),
  tests(
    "SessionTests",
    uses: ["HoldfastCore", "HoldfastSessionData", "HoldfastSession", "HoldfastTestKit"]),
  tests(
    "HealthSyncTests",
    uses: [
      "HoldfastCore", "HoldfastUploads", "HoldfastSyncData", "HoldfastHealthSync",
      "HoldfastTestKit", "HoldfastHealthSamples",
    ]),
  // What the tests of all servers share.
  .target(
    name: "HoldfastServerFixtures", dependencies: ["HoldfastCore", "HoldfastServerParts"],
    path: "Tests/ServerFixtures", swiftSettings: strict),
  .target(
    name: "HoldfastRelayFixtures",
    dependencies: [
      "HoldfastCore", "HoldfastHealth", "HoldfastRelayData", "HoldfastRelayServer",
      "HoldfastServerFixtures",
    ],
    path: "Tests/RelayFixtures", swiftSettings: strict),
  tests(
    "ServerPartsTests",
    uses: [
      "HoldfastAssistants", "HoldfastCore", "HoldfastIdentity", "HoldfastJSON",
      "HoldfastMessageData", "HoldfastMessageServer", "HoldfastOperators", "HoldfastPages",
      "HoldfastRelayServer", "HoldfastServerFixtures", "HoldfastServerParts",
      "HoldfastSessionServer", "HoldfastSyncServer", "HoldfastTestKit",
    ]),
  tests(
    "MessageServerTests",
    uses: [
      "HoldfastAssistants", "HoldfastCore", "HoldfastIdentity", "HoldfastJSON",
      "HoldfastMessageData", "HoldfastMessageServer", "HoldfastServerFixtures",
      "HoldfastServerParts", "HoldfastTestKit", "HoldfastUploads",
    ]),
  tests(
    "RelayServerTests",
    uses: [
      "HoldfastAssistants", "HoldfastCore", "HoldfastHealth", "HoldfastJSON", "HoldfastRelayData",
      "HoldfastRelayServer", "HoldfastRelayFixtures", "HoldfastServerFixtures",
      "HoldfastServerParts", "HoldfastTestKit",
    ]),
  tests(
    "SyncServerTests",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastHealthSamples", "HoldfastRelayServer",
      "HoldfastRelayFixtures", "HoldfastServerFixtures", "HoldfastServerParts", "HoldfastSyncData",
      "HoldfastSyncServer",
      "HoldfastTestKit", "HoldfastUploads",
    ]),
  tests(
    "SessionServerTests",
    uses: [
      "HoldfastCore", "HoldfastIdentity", "HoldfastRelayFixtures", "HoldfastServerFixtures",
      "HoldfastServerParts",
      "HoldfastSessionData", "HoldfastSessionServer", "HoldfastTestKit",
    ]),
  tests(
    "AssistantsTests",
    uses: [
      "HoldfastAssistants", "HoldfastCore", "HoldfastHealth", "HoldfastJSON", "HoldfastRelayData",
      "HoldfastRelayServer", "HoldfastRelayFixtures", "HoldfastServerFixtures",
      "HoldfastServerParts", "HoldfastTestKit",
    ]),
  tests(
    "RuntimeTests",
    uses: ["HoldfastCore", "HoldfastDriver", "HoldfastPorts", "HoldfastSocket", "HoldfastTestKit"]),
  tests(
    "CurlNetworkTests",
    uses: [
      "HoldfastCore", "HoldfastPorts", "HoldfastProtocols", "HoldfastSocketEngine",
      "HoldfastCurlNetwork", "CHoldfastCurl", "HoldfastTestKit",
    ]),
  tests(
    "StoreSQLiteTests",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastHealthSamples", "HoldfastMessageData",
      "HoldfastRelayData", "HoldfastSyncData", "HoldfastFeaturePorts", "HoldfastDriver",
      "HoldfastSQLiteStores", "HoldfastOwnerFiles", "HoldfastTestKit",
    ]),
  tests(
    "StorePostgreSQLTests",
    uses: [
      "HoldfastCore", "HoldfastMessageData", "HoldfastSyncData", "HoldfastMessageServer",
      "HoldfastFeaturePorts", "HoldfastPorts", "HoldfastDriver", "HoldfastPostgreSQLStores",
      "HoldfastSQLiteStores", "HoldfastNodeBus", "HoldfastBackend", "HoldfastBackups",
      "HoldfastChildProcesses", "HoldfastTestKit", "HoldfastHealthSamples",
    ]),
  tests("ExportFilesTests", uses: ["HoldfastExportFiles", "HoldfastTestKit"]),
  // Separate from HoldfastTests: an import uses all processors, and no clock waits there.
  tests(
    "HealthImportTests",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastUploads", "HoldfastHealthSamples",
      "HoldfastSyncData", "HoldfastAssistants", "HoldfastFeaturePorts", "HoldfastPorts", "Holdfast",
      "HoldfastOwnerFiles", "HoldfastTestKit",
    ], besides: ["Types", "Questions"]),
  tests(
    "SystemTests",
    uses: [
      "HoldfastCore", "HoldfastFeaturePorts", "HoldfastPorts", "HoldfastDriver", "HoldfastNetlink",
      "HoldfastLinuxDevice", "HoldfastChildProcesses", "CHoldfastLinux", "CHoldfastSystemd",
      "HoldfastRadioSocket", "HoldfastBlueZ", "HoldfastFirmware", "HoldfastVirtualBottle",
      "HoldfastBottleData", "HoldfastTestKit",
    ]),
  tests(
    "PushTests",
    uses: [
      "HoldfastCore", "HoldfastRelayData", "HoldfastFeaturePorts", "HoldfastPorts",
      "HoldfastCurlNetwork", "HoldfastPush", "HoldfastTestKit",
    ]),
  tests(
    "BackendTests",
    uses: [
      "Holdfast", "HoldfastHealthRelay", "HoldfastProtocols", "HoldfastServerSockets",
      "HoldfastBackend", "HoldfastBackups", "HoldfastJSON", "HoldfastUploads",
      "HoldfastMessageData",
      "HoldfastRelayData", "HoldfastSyncData", "HoldfastSessionData", "HoldfastServerParts",
      "HoldfastIdentity", "HoldfastMessageServer", "HoldfastOwnerFiles", "HoldfastRelayServer",
      "HoldfastSyncServer",
      "HoldfastSessionServer", "HoldfastAssistants", "HoldfastOperators", "HoldfastKeyedHashing",
      "HoldfastCore", "HoldfastHealth", "HoldfastFeaturePorts", "HoldfastPorts",
      "CHoldfastLinux", "HoldfastTestKit", "HoldfastHealthSamples",
    ],
    besides: ["MCP/SDK", "Identity/Kept"]),
  // What tests share that start peers and programs.
  .target(
    name: "HoldfastRigs",
    dependencies: [
      "HoldfastCore", "HoldfastProtocols", "HoldfastServerSockets", "HoldfastTestKit",
    ],
    path: "Tests/Rigs", exclude: ["Peers"], swiftSettings: strict),
  tests(
    "CommandKitTests",
    uses: ["HoldfastCommandKit", "HoldfastCore", "HoldfastTestKit"]),
  tests(
    "DemoTests",
    uses: [
      "HoldfastChildProcesses", "HoldfastCommandKit", "HoldfastCore", "HoldfastDemo",
      "HoldfastLinkTrace", "HoldfastMessageData", "HoldfastProtocols", "HoldfastRigs",
      "HoldfastTestKit",
    ]),
  tests(
    "ProgramTests",
    uses: [
      "Holdfast", "HoldfastAssistants", "HoldfastBackend", "HoldfastCommandKit", "HoldfastCore",
      "HoldfastFeaturePorts", "HoldfastHealth", "HoldfastIdentity", "HoldfastJSON", "HoldfastLab",
      "HoldfastMessageData", "HoldfastMessageServer", "HoldfastPorts", "HoldfastRelayData",
      "HoldfastRelayServer", "HoldfastRigs", "HoldfastTestKit",
    ],
    besides: ["Session/Peers"]),
  tests(
    "HoldfastTests",
    uses: [
      "Holdfast", "HoldfastBackend", "HoldfastBottleData", "HoldfastBottleLink", "HoldfastCore",
      "HoldfastDriver", "HoldfastFeaturePorts", "HoldfastHealth", "HoldfastHealthRelay",
      "HoldfastHealthSamples", "HoldfastHealthSync", "HoldfastHeldSocket", "HoldfastJSON",
      "HoldfastMessageData", "HoldfastMessageServer", "HoldfastMessageStream", "HoldfastPorts",
      "HoldfastProtocols", "HoldfastRelayData", "HoldfastRelayServer", "HoldfastRigs",
      "HoldfastServerSockets", "HoldfastSession", "HoldfastSessionData", "HoldfastSocket",
      "HoldfastSyncData", "HoldfastTestKit", "HoldfastUploads",
    ]),
  // Separate from HoldfastTests: simulations use all processors, and no clock waits there.
  tests(
    "SimulateTests",
    uses: [
      "HoldfastMessageChecks", "HoldfastRelayChecks", "HoldfastSyncChecks", "HoldfastSessionChecks",
      "HoldfastBottleChecks", "HoldfastHeldChecks",
      "HoldfastCore", "HoldfastHealth", "HoldfastMessageData", "HoldfastRelayData",
      "HoldfastMessageStream", "HoldfastHealthRelay", "HoldfastHeldSocket", "HoldfastSession",
      "HoldfastHealthSync", "HoldfastBottleLink", "HoldfastLinkChecks", "HoldfastWorlds",
      "HoldfastLinkTrace", "HoldfastRunTraces", "HoldfastTestKit", "HoldfastLab",
      "HoldfastSyncData",
    ]),
  tests("HerdTests", uses: ["HoldfastCore", "HoldfastHerd", "HoldfastTestKit", "HoldfastLab"]),
  tests(
    "RelayTests",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastRelayData", "HoldfastRelayServer",
      "HoldfastFeaturePorts", "HoldfastPorts", "HoldfastDriver", "HoldfastProtocols",
      "HoldfastHealthRelay", "Holdfast", "HoldfastBackend", "HoldfastTestKit",
      "HoldfastServerSockets", "HoldfastHealthSamples",
    ]),
  tests(
    "FuzzTests",
    uses: [
      "HoldfastCore", "HoldfastHealth", "HoldfastJSON", "HoldfastUploads", "HoldfastHealthSamples",
      "HoldfastMessageData", "HoldfastRelayData", "HoldfastSyncData", "HoldfastSessionData",
      "HoldfastBottleData", "HoldfastServerParts", "HoldfastIdentity", "HoldfastMessageServer",
      "HoldfastRelayServer", "HoldfastSessionServer", "HoldfastAssistants", "HoldfastOperators",
      "HoldfastProtocols", "HoldfastDriver", "HoldfastMessageStream", "HoldfastHeldSocket",
      "HoldfastFirmware", "HoldfastBottleLink", "HoldfastVirtualBottle", "HoldfastSQLiteStores",
      "HoldfastHealthSync", "HoldfastNetlink", "HoldfastBackend", "HoldfastServerSockets",
      "HoldfastSocketEngine", "HoldfastCommandKit", "HoldfastTestKit", "HoldfastSyncServer",
    ],
    besides: ["Corpus", "Words"]),
  tests(
    "SimulatorTests",
    uses: [
      "HoldfastMessageChecks", "HoldfastRelayChecks", "HoldfastSyncChecks", "HoldfastSessionChecks",
      "HoldfastBottleChecks", "HoldfastHeldChecks",
      "HoldfastCore", "HoldfastHealth", "HoldfastMessageData", "HoldfastRelayData",
      "HoldfastSyncData", "HoldfastSessionData", "HoldfastBottleData", "HoldfastServerParts",
      "HoldfastMessageServer", "HoldfastRelayServer", "HoldfastSessionServer",
      "HoldfastMessageStream", "HoldfastHealthRelay", "HoldfastHeldSocket", "HoldfastLinkChecks",
      "HoldfastWorldKernel", "HoldfastMessageWorld", "HoldfastRelayWorld", "HoldfastSyncWorld",
      "HoldfastSessionWorld", "HoldfastBottleWorld", "HoldfastHeldWorld", "HoldfastWorlds",
      "HoldfastSimulator", "HoldfastSession", "HoldfastHealthSync",
      "HoldfastBottleLink", "HoldfastTestKit", "HoldfastHealthSamples", "HoldfastUploads",
    ],
    besides: ["Corpus"]),
  tests(
    "HoldfastUITests",
    uses: [
      "Holdfast", "HoldfastUI", "HoldfastTestKit", "HoldfastCore", "HoldfastFeaturePorts",
      "HoldfastPorts", "HoldfastMessageData", "HoldfastRelayData",
      "HoldfastSyncData", "HoldfastSessionData", "HoldfastBottleData", "HoldfastMessageStream",
      "HoldfastSession", "HoldfastHealthSamples",
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
