import HoldfastLinkChecks
import HoldfastBottleChecks
import HoldfastHeldChecks
import HoldfastMessageChecks
import HoldfastRelayChecks
import HoldfastSessionChecks
import HoldfastSyncChecks
@_exported public import HoldfastBottleWorld
@_exported public import HoldfastHeldWorld
@_exported public import HoldfastMessageWorld
@_exported public import HoldfastRelayWorld
@_exported public import HoldfastSessionWorld
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
