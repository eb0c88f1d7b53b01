import Foundation
package import LinkCore

/// A directory of a test's own, gone with it.
public final class Scratch: Sendable {
  /// Where it is, without a slash at the end.
  public let path: String

  /// Makes an empty directory for the owner alone in the system's place for such.
  public init() throws {
    let directory = FileManager.default.temporaryDirectory
      .appending(path: "holdfast-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    path = directory.path
  }

  deinit { remove() }

  /// Removes the directory and everything in it.
  public func remove() { try? FileManager.default.removeItem(atPath: path) }

  /// The path of something in it.
  public func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

  /// The whole of a file that holds UTF-8.
  public func text(of name: String) throws -> String {
    try String(contentsOfFile: self(name), encoding: .utf8)
  }

  /// The whole of a file.
  public func bytes(of name: String) throws -> [UInt8] {
    try [UInt8](Data(contentsOf: URL(filePath: self(name))))
  }

  /// Makes a file, or replaces what it holds.
  public func write(_ bytes: some Sequence<UInt8>, to name: String) throws {
    try Data(bytes).write(to: URL(filePath: self(name)))
  }

  /// The permissions of a file or directory, as in chmod(2).
  public func mode(of name: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: self(name))[.posixPermissions] as? Int
  }
}

// The laboratory starts programs and needs root: it is a module of its own, which only Linux has.
#if os(Linux)
  @_exported public import HoldfastLab
#endif

/// A fault in the fields of a machine, and the name of the invariant that finds it.
package typealias PlantedFault<M> = (invariant: String, plant: @Sendable (inout M) -> Void)

/// Returns the faults that their invariants do not find in a machine, and the invariants that are
/// broken without a fault; empty if each invariant can fail and holds.
package func unnoticed<M: Machine>(_ faults: [PlantedFault<M>], in machine: M) -> [String] {
  var sound = machine
  var found = sound.brokenInvariants(.thorough).map { "\($0) (without a fault)" }
  for fault in faults {
    var broken = machine
    fault.plant(&broken)
    if !broken.brokenInvariants(.thorough).contains(fault.invariant) {
      found.append(fault.invariant)
    }
  }
  return found
}
