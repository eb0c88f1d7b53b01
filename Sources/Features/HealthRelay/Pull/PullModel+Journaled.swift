public import LinkCore

extension PullModel: Journaled {
  public static var journalName: String { "health-pull" }

  /// - Parameter seed: unused; a pull leaves nothing to chance.
  public init(_ birth: PullSettings, seed: UInt64) {
    self.init(birth)
  }
}
