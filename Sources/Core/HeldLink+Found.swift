// A transport that exists though this link did not open it: a peripheral that the system restored,
// an upload of an earlier process.
extension HeldLink {
  /// The name under which a found transport is told of.
  public var nextAttempt: AttemptID { AttemptID(lastAttempt + 1) }

  /// Takes a found transport as its own, in the place of a try under way; closes one that it has no
  /// use for.
  mutating func found(_ attempt: AttemptID, established: Bool, _ step: inout Step) {
    guard attempt.number > lastAttempt else { return }  // the name of an attempt that began since
    note(found: attempt)
    switch state {
    case .preparing(let trying), .opening(let trying), .establishing(let trying):
      step.effects.append(.close(trying.attempt, .superseded))
    case .settling, .waiting, .refreshing, .resting:
      break
    case .idle, .failed:
      step.effects.append(.close(attempt, .leaving))
      return
    case .held, .ready:
      step.effects.append(.close(attempt, .superseded))
      return
    }
    if case .queued = standby.state { dropStandby(&step) }
    let until = step.now.advanced(by: policy.establish.timeout)
    let trying = Trying(
      attempt: attempt, until: until, establishBy: until, series: .reconnect,
      generation: gate.credentials.generation)
    guard established || policy.establish.milestone == .opened else {
      state = .establishing(trying)
      return
    }
    become(ready: trying, &step)
  }
}
