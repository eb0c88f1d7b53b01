import LinkCore

// The model on a phone: what reaches it, and what leaves it.
extension SimulatedWorld where Self: ~Copyable {
  /// Tells a model of an event that any link can have, if its process runs.
  mutating func inform(_ phone: HostID, of event: LinkEvent) {
    guard let input = Feature.Model.input(event, at: wall(phone)) else { return }
    give(input, to: phone)
  }

  /// Gives a model an input, if its process runs.
  mutating func give(_ input: Feature.Input, to phone: HostID) {
    guard kernel.hosts[phone.place].isRunning else { return }
    // What it stood at after its last step.
    let current = kernel.bench.views[phone.index].standing.currentAttempt
    let queued = kernel.bench.views[phone.index].standing.queuedAttempt
    let isLate =
      Feature.Model.role(of: input).attempt.map { $0 != current && $0 != queued } ?? false
    guard kernel.setup.defect != nil else { return step(input, isLate: isLate, of: phone) }
    let status = kernel.bench.views[phone.index].standing.status
    let passed = kernel.seams[phone.index].input(input, current: current, status: status)
    guard let passed else { return }
    for real in altered(passed, of: phone) {
      guard kernel.hosts[phone.place].isRunning else { return }
      step(real, isLate: isLate, of: phone)
    }
  }

  private mutating func step(_ input: Feature.Input, isLate: Bool, of phone: HostID) {
    let time = time(phone)
    let asked = clients[phone.index].handle(input, at: time)
    stepped(input, asked, at: time, of: phone)
    let effects = leaving(asked, phone)
    examine(phone)
    carryOut(effects, of: phone, after: input, isLate: isLate)
  }

  mutating func tickModel(_ phone: HostID) {
    let time = time(phone)
    let asked = clients[phone.index].tick(at: time)
    stepped(nil, asked, at: time, of: phone)
    let effects = leaving(asked, phone)
    examine(phone)
    carryOut(effects, of: phone, after: nil, isLate: false)
  }

  /// Reports what the model's last step broke.
  private mutating func examine(_ phone: HostID) {
    let depth = kernel.depthOfCheck()
    kernel.report(clients[phone.index].brokenInvariants(depth))
  }

  /// What of the model's effects really leaves it.
  private mutating func leaving(
    _ effects: [Feature.Effect], _ phone: HostID
  ) -> [Feature.Effect] {
    guard kernel.setup.defect != nil else { return effects }
    return effects.flatMap { altered($0, of: phone) }
  }

  /// Carries effects out, in order, then notes the step, so that checkers see what it set going.
  ///
  /// A process that is doomed to die between two effects does.
  private mutating func carryOut(
    _ effects: [Feature.Effect], of phone: HostID, after input: Feature.Input?, isLate: Bool
  ) {
    kernel.counts.steps += 1
    lookAt(phone)
    let (spared, dies) = spared(effects, of: phone)
    for effect in spared { perform(effect, of: phone) }
    kernel.stand(phone, isWanted: isWanted(phone))
    kernel.noteStep(phone, input, isLate: isLate, effects)
    if dies { die(phone) }
  }

  /// Notes how the model stands.
  mutating func lookAt(_ phone: HostID) {
    let slept = kernel.hosts[phone.place].slept
    let glance = clients[phone.index].glance()
    kernel.bench.views[phone.index].standing.status = glance.status
    kernel.bench.views[phone.index].standing.deadline =
      slept == .zero ? glance.deadline : glance.deadline.map { $0.advanced(by: slept) }
    kernel.bench.views[phone.index].standing.currentAttempt = glance.current
    kernel.bench.views[phone.index].standing.queuedAttempt = glance.queued
    look(phone)
  }
}
