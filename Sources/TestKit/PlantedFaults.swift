package import LinkCore

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
