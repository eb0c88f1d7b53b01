import LinkCore

extension PullModel: Journaled {
  package static var journalName: String { "health-pull" }

  /// - Parameter seed: unused; a pull leaves nothing to chance.
  package init(_ birth: PullSettings, seed: UInt64) {
    self.init(birth)
  }
}
