/// The modules that belong to a feature, and the modules that must not name a feature.
extension Rules {
  /// The prefixes of names that belong to one feature.
  static let featureNames = [
    "MessageStream", "ShopStream", "Shop", "StreamModel", "StreamFeature", "StreamSettings",
    "HealthRelay", "Relay", "HeldSocket", "SocketModel", "HeldFeature", "SessionModel",
    "SessionsFeature",
    "SessionServer", "SessionPolicy", "BottleLink", "HealthSync", "SyncModel", "SyncFeature",
  ]

  /// The folders whose files belong to one feature, at any depth under `Sources`.
  static let featureFolders: Set<Substring> = [
    "MessageStream", "HealthRelay", "HeldSocket", "Session", "BottleLink", "HealthSync", "Shop",
    "Messages", "Bottle", "Sync", "Relay", "Assistants", "Audit", "Admin",
  ]

  /// The files that contain one line for each feature, as listed in CONTRIBUTING.md.
  ///
  /// The manifest and the fuzz targets are such files too, but they are not under `Sources`.
  static let lists = [
    "Sources/Base/Core/Policy/Presets.swift",
    "Sources/Simulator/Worlds/Worlds.swift",
    "Sources/Server/Backend/BackendConfiguration.swift",
    "Sources/Stores/PostgreSQL/Migrations.swift",
    "Sources/Stores/SQLite/Moves/SQLiteStores.swift",
    "Sources/Simulator/Simulation/Simulation.swift",
    "Sources/Simulator/Command/CheckedMachine.swift",
    "Sources/Tools/Command/Journal/JournaledMachines.swift",
    "Sources/Tools/Command/HoldfastCommand.swift",
    "Sources/Tools/Demo/DemoScenario.swift",
    "Sources/Holdfast/Exports.swift",
    "Sources/Holdfast/Names.swift",
    "Sources/HoldfastSocket/Exports.swift",
    "Sources/Base/FeaturePorts/Exports.swift",
    "Sources/HoldfastUI/App/Wakes.swift",
  ]

  /// Returns the names of features that occur in shared modules, except in `lists`.
  static func featuresNamed(_ file: SourceFile) -> [Breach] {
    // The claim `shops` is part of the token format.
    guard file.isUnder("Sources"), file.path != "Sources/Server/Identity/Claims.swift",
      !lists.contains(file.path),
      featureFolders.isDisjoint(with: file.path.split(separator: "/").dropLast())
    else { return [] }
    return file.code.indices.compactMap { line in
      guard !importsFloor(file.code[line]) else { return nil }
      let tokens = file.code[line].split { !($0.isLetter || $0.isNumber || $0 == "_") }
      guard let name = tokens.first(where: isFeatures) else { return nil }
      return Breach(file, line, "a shared module names `\(name)`; only \(lists.count) lists may")
    }
  }

  /// Returns whether a line imports a feature's data or its rules of a server. Ports and hosts pass
  /// values of all features on.
  private static func importsFloor(_ line: String) -> Bool {
    line.contains("import Holdfast") && (line.hasSuffix("Data") || line.hasSuffix("Server"))
  }

  /// Returns whether a name begins with a feature's name as a whole word, as in `Relay` and
  /// `RelayModel` but not in `Relayed`.
  private static func isFeatures(_ token: Substring) -> Bool {
    // Modules of features have the package's prefix.
    let token = token.trimmingPrefix("Holdfast")
    return featureNames.contains { name in
      guard token.hasPrefix(name) else { return false }
      return token.dropFirst(name.count).first.map { !$0.isLowercase } ?? true
    }
  }
}
