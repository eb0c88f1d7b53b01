import HoldfastCore
package import HoldfastHealthRelay
public import HoldfastLinkChecks

/// A checker of one phone's own guarantees: each accepted question ends once, the notification is
/// correct, and the user receives no more than a reasonable number of problem reports.
struct RelayPhoneChecker: Sendable {
  /// The number of questions that had not ended after the last step.
  private var open = 0
  private var isNotified = false
  /// Whether the current wrong notification has been reported.
  private var isReported = false
  private var lastProblem: Instant?

  mutating func stepped(
    _ input: RelayModel.Input?, _ effects: [RelayModel.Effect],
    _ phoneState: PhoneState<RelayFeature>, _ found: inout Findings
  ) {
    let name = "phone \(phoneState.own.phone)"
    var ended = 0
    for effect in effects {
      switch effect {
      case .update(.ended): ended += 1
      case .update(.problem): checkProblem(phoneState.now, name, &found)
      case .notify: isNotified = true
      case .unnotify: isNotified = false
      case .open, .close, .ping, .read, .send, .discard, .fail, .refuse, .update: continue
      }
    }
    checkQuestions(input, ended: ended, phoneState, name, &found)
    let isTrue = isNotified == (phoneState.own.hasNotification && phoneState.own.state.isUp)
    if !isTrue, !isReported {
      found.add(.misleading, at: phoneState.now, "\(name) shows the wrong notification")
    }
    isReported = !isTrue
  }

  /// Checks the questions. Only the question that the phone receives in this step may be new.
  private mutating func checkQuestions(
    _ input: RelayModel.Input?, ended: Int, _ phoneState: PhoneState<RelayFeature>, _ name: String,
    _ found: inout Findings
  ) {
    let now = phoneState.now
    let taken = phoneState.own.open - open + ended
    open = phoneState.own.open
    var isQuestion = false
    if case .message(_, .asked) = input { isQuestion = true }
    if taken < 0 { found.add(.unanswered, at: now, "\(name) dropped a question without ending it") }
    if taken > (isQuestion ? 1 : 0) {
      found.add(.doubled, at: now, "\(name) ended more questions than it accepted")
    }
    switch phoneState.own.state {
    case .idle, .error:
      if open > 0 { found.add(.unanswered, at: now, "\(name) is off but still has open questions") }
    case .starting, .running, .reconnecting, .stopping: return
    }
  }

  private mutating func checkProblem(_ now: Instant, _ name: String, _ found: inout Findings) {
    if let lastProblem, lastProblem.duration(to: now) < RelaySettings.problemInterval {
      found.add(.storm, at: now, "\(name) reported two problems within 30 s")
    }
    lastProblem = now
  }
}

extension RelayStatus.State {
  /// Whether the phone's service is active.
  fileprivate var isUp: Bool {
    switch self {
    case .starting, .running, .reconnecting: true
    case .idle, .error, .stopping: false
    }
  }
}

extension RelayState {
  /// Copies the state of the model.
  package mutating func look(_ model: RelayModel) {
    open = model.openQuestions
    state = model.status.state
  }
}

extension Finding.Kind {
  /// A notification did not match the state.
  public static let misleading = Finding.Kind(rawValue: "misleading")
}
