import HoldfastBottleChecks
@_exported public import HoldfastBottleWorld
import HoldfastHeldChecks
@_exported public import HoldfastHeldWorld
import HoldfastLinkChecks
import HoldfastMessageChecks
@_exported public import HoldfastMessageWorld
import HoldfastRelayChecks
@_exported public import HoldfastRelayWorld
import HoldfastSessionChecks
@_exported public import HoldfastSessionWorld
import HoldfastSyncChecks
@_exported public import HoldfastSyncWorld
@_exported public import HoldfastWorldKernel

/// The list of all worlds. The command line, `make sim` and `make nightly` iterate over it.
public enum Worlds {
  /// The worlds, one line each.
  public static let all: [any SimulatedFeature.Type] = [
    StreamFeature.self, RelayFeature.self, HeldFeature.self, SessionsFeature.self,
    SyncFeature.self, BottleFeature.self,
  ]
}
