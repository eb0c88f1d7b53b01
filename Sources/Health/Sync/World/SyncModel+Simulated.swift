public import HoldfastCore
public import HoldfastHealthSync
import HoldfastLinkChecks
public import HoldfastSyncChecks
public import HoldfastWorldKernel

extension SyncModel: SimulatedModel {
  public static func input(_ event: LinkEvent, at wall: Timestamp) -> Input? {
    if case .device(let change) = event { .device(change) } else { nil }
  }

  public static func renamed(_ input: Input, to attempt: AttemptID) -> Input { input }
}
