public import LinkCore
import LinkWire
import MessageStream

/// What a run is played with, beside its plan.
public struct Setup: Sendable {
  /// How the link behaves.
  public var policy: LinkPolicy
  /// The defect that is switched on.
  public var defect: Break?

  /// The policy of the feature, and no defect, by default.
  public init(policy: LinkPolicy = .messageStream, defect: Break? = nil) {
    self.policy = policy
    self.defect = defect
  }
}

/// Plays one plan with a client of a kind, before all judges.
///
/// - Parameter watch: Sees everything that happens, with how things stand right after it.
public func play<Client: StreamClient>(
  _ plan: Plan, _ setup: Setup = Setup(), as client: Client.Type,
  watch: (Happening, Facts) -> Void = { _, _ in }
) -> Outcome {
  withoutActuallyEscaping(watch) { watch in
    // Named here, so that the compiler makes a world of its own for the usual client.
    if Client.self == StreamModel.self {
      outcome(of: plan, setup, as: StreamModel.self, watch)
    } else {
      outcome(of: plan, setup, as: client, watch)
    }
  }
}

private func outcome<Client: StreamClient>(
  of plan: Plan, _ setup: Setup, as client: Client.Type,
  _ watch: @escaping (Happening, Facts) -> Void
) -> Outcome {
  guard let shop = ShopID("shop") else { preconditionFailure("a word of letters is a shop id") }
  var world = World<Client>(plan, setup, shop: shop, watch: watch)
  world.play()
  return Outcome(
    seed: plan.seed, server: plan.server, findings: world.bench.findings + world.findings,
    counts: world.counts, digest: world.digest.value)
}
