import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastWorlds
import Testing

// Properties of a run that the scenarios check.
extension Recording {
  /// The times at which the client attempted to connect.
  var opens: [Instant] {
    effects.compactMap { if case .open = $0.effect { $0.at } else { nil } }
  }

  /// Returns the time at which a text was first shown, or nil if it was never shown.
  func shown(_ text: String) -> Instant? {
    effects.first {
      if case .update(.messages(let messages, _)) = $0.effect {
        messages.contains { $0.text == text }
      } else {
        false
      }
    }?.at
  }

  /// The number of credential refreshes that the client requested.
  var refreshes: Int { effects.count { $0.effect == .refreshCredentials } }

  /// Returns the time of the first attempt at or after the given second.
  func opens(after second: Double) -> Instant? { opens.first { $0 >= .second(second) } }

  /// The maximum number of attempts that were in progress or connected at the same time.
  var mostAtOnce: Int {
    var phoneState: Set<AttemptID> = []
    var most = 0
    for (_, observation) in observations {
      switch observation {
      case .launched: phoneState = []
      case .received(_, let input, _, let effects):
        if case .lost(let attempt, _)? = input.event { phoneState.remove(attempt) }
        follow(effects, &phoneState, &most)
      case .ticked(_, let effects): follow(effects, &phoneState, &most)
      case .killed, .suspended, .resumed, .upgraded, .serverLost, .wentDead, .server, .began,
        .ended,
        .calm, .fact:
        continue
      }
    }
    return most
  }

  private func follow(
    _ effects: [StreamModel.Effect], _ phoneState: inout Set<AttemptID>, _ most: inout Int
  ) {
    for effect in effects {
      if case .open(let attempt, _) = effect { phoneState.insert(attempt) }
      if case .close(let attempt, _) = effect { phoneState.remove(attempt) }
      most = max(most, phoneState.count)
    }
  }
}

/// Runs a plan and expects no findings.
func whole(_ plan: Plan, _ location: SourceLocation = #_sourceLocation) -> Recording {
  let recording = Recording(plan)
  #expect(recording.outcome.findings == [], sourceLocation: location)
  return recording
}
