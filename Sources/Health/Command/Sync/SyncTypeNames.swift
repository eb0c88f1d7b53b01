import Holdfast
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSync

/// The names of types on command lines, which are HealthKit identifiers with or without their
/// prefix.
enum SyncTypeNames {
  /// Returns the identifiers of the named types, or of the default types if no names are given.
  static func types(
    _ names: [String]?, in store: any HealthStore
  ) async throws(CommandFailure) -> [String] {
    guard let names, !names.isEmpty else { return SyncTypes.usual }
    let stored = try await CommandFailure.catching { () throws(StoreFailure) in
      try await store.summary().map(\.type)
    }
    var found: [String] = []
    for name in names {
      let type = try type(name, among: SyncTypes.usual + stored)
      if !found.contains(type) { found.append(type) }
    }
    return found
  }

  /// Returns the identifier of a named type.
  ///
  /// - Throws: A usage error if the type is unknown.
  static func type(
    _ name: String, among known: [String]
  ) throws(CommandFailure) -> String {
    let wanted = name.lowercased()
    let type = known.first { type in
      [type, SyncTypes.dataType(of: type), HealthCommands.short(type)]
        .contains { $0.lowercased() == wanted }
    }
    if let type { return type }
    // The type may be valid even if no samples of it are stored.
    if name.hasPrefix("HK") { return name }
    throw CommandFailure(
      .usage, "\(name.printable) is not a known type",
      remedy: "`health show` lists the types that are stored")
  }
}
