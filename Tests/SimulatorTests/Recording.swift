import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageStream
import HoldfastWorlds

/// A recorded run with all its observations in order.
struct Recording {
  var outcome: Outcome
  var observations: [(at: Instant, what: StreamObservation)] = []

  init(_ plan: Plan) {
    var observations: [(at: Instant, what: StreamObservation)] = []
    outcome = play(plan, as: StreamModel.self) { observation, facts in
      observations.append((facts.now, observation))
    }
    self.observations = observations
  }

  /// The inputs that the client received, with the time of each.
  var inputs: [(at: Instant, input: StreamModel.Input)] {
    observations.compactMap {
      if case .received(_, let input, _, _) = $0.what { ($0.at, input) } else { nil }
    }
  }

  /// The effects that the client returned, with the time of each.
  var effects: [(at: Instant, effect: StreamModel.Effect)] {
    observations.flatMap { entry -> [(at: Instant, effect: StreamModel.Effect)] in
      switch entry.what {
      case .received(_, _, _, let effects), .ticked(_, let effects): effects.map { (entry.at, $0) }
      case .launched, .killed, .suspended, .resumed, .upgraded, .serverLost, .wentDead, .server,
        .began,
        .ended, .calm, .fact:
        []
      }
    }
  }

  var losses: [(at: Instant, failure: LinkFailure)] {
    inputs.compactMap {
      if case .lost(_, let failure)? = $0.input.event { ($0.at, failure) } else { nil }
    }
  }

  /// Returns the times of the observations that match a predicate.
  func times(_ isMeant: (StreamObservation) -> Bool) -> [Instant] {
    observations.filter { isMeant($0.what) }.map(\.at)
  }
}

extension Plan {
  /// Returns a plan of ten minutes under good network conditions. By default, the server has
  /// positions.
  static func short(
    seed: UInt64 = 1, server: ServerKind = .positions, _ events: [(Int, Action)],
    change: (inout Plan) -> Void = { _ in }
  ) -> Plan {
    var plan = Plan(
      seed: seed, server: server, events: events.map { Planned(at: .seconds($0.0), $0.1) },
      length: .seconds(600))
    change(&plan)
    return plan
  }
}
