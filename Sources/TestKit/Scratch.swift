import Foundation
package import HoldfastCore

/// A temporary directory of a test. It is removed when this object is released.
public final class Scratch: Sendable {
  /// The path of the directory, without a slash at the end.
  public let path: String

  /// Creates an empty directory in the system's temporary directory, accessible only to its owner.
  public init() throws {
    let directory = FileManager.default.temporaryDirectory
      .appending(path: "holdfast-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    path = directory.path
  }

  deinit { remove() }

  /// Removes the directory and its contents.
  public func remove() { try? FileManager.default.removeItem(atPath: path) }

  /// Returns the path of an entry in the directory.
  public func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

  /// Returns the content of a UTF-8 file.
  public func text(of name: String) throws -> String {
    try String(contentsOfFile: self(name), encoding: .utf8)
  }

  /// Returns the content of a file.
  public func bytes(of name: String) throws -> [UInt8] {
    try [UInt8](Data(contentsOf: URL(filePath: self(name))))
  }

  /// Creates or overwrites a file.
  public func write(_ bytes: some Sequence<UInt8>, to name: String) throws {
    try Data(bytes).write(to: URL(filePath: self(name)))
  }

  /// Returns the permissions of a file or directory, as in chmod(2).
  public func mode(of name: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: self(name))[.posixPermissions] as? Int
  }
}

// HoldfastLab starts programs and needs root, so it is a separate module that exists only on Linux.
#if os(Linux)
  @_exported public import HoldfastLab
#endif

/// A fault planted in the fields of a machine, and the name of the invariant that must detect it.
package typealias PlantedFault<M> = (invariant: String, plant: @Sendable (inout M) -> Void)

/// Returns the invariants that do not detect their faults, and those that are broken without a
/// fault.
///
/// The result is empty if each invariant holds for the machine and detects its fault.
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
