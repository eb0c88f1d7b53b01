import Foundation

/// The end of a process whose machine broke one of its invariants.
///
/// What the machine does from then on cannot be foreseen: it could acknowledge what was not stored.
/// What was stored survives the end, as it survives any kill, and the next start begins from there
/// (decision 0032).
package enum BrokenInvariant {
  /// Writes which invariant is broken to standard error, and traps.
  ///
  /// - Parameters:
  ///   - name: The name of the invariant.
  ///   - machine: The name of the machine, as the journal has it.
  package static func stop(_ name: String, in machine: String) -> Never {
    let text = "holdfast: the machine \(machine) broke an invariant: \(name)"
    // Release builds leave the message of a trap out.
    try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    preconditionFailure(text)
  }
}
