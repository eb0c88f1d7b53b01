package import LinkCore
package import LinkDriver

/// A machine at its start: what it is made from, its seed, and the journal of the run.
package struct MachineStart<M: Journaled>: Sendable {
  package let birth: M.Birth
  let journal: Journal<M>?
  private let seed: UInt64

  /// A start without a journal.
  package init(_ birth: M.Birth) {
    self.birth = birth
    seed = .random(in: .min ... .max)
    journal = nil
  }

  /// A start that is journaled if there is a path.
  ///
  /// - Parameter notice: called once if journaling is turned off later, with the reason.
  /// - Throws: if the journal cannot be made.
  package init(
    _ birth: M.Birth, journal path: String?, at wall: Timestamp,
    notice: @escaping @Sendable (JournalError) -> Void
  ) async throws(JournalError) {
    self.birth = birth
    seed = .random(in: .min ... .max)
    guard let path else {
      journal = nil
      return
    }
    journal = try await Journal(
      path: path, header: JournalHeader(birth: birth, seed: seed, startedAt: wall), notice: notice)
  }

  var machine: M { M(birth, seed: seed) }
}
