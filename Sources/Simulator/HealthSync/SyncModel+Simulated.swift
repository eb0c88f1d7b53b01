public import HoldfastCore
public import HoldfastHealthSync
public import HoldfastLinkChecks

extension SyncModel: SimulatedModel {
  public static func input(_ event: LinkEvent, at wall: Timestamp) -> Input? {
    if case .device(let change) = event { .device(change) } else { nil }
  }

  public static func renamed(_ input: Input, to attempt: AttemptID) -> Input { input }
}
