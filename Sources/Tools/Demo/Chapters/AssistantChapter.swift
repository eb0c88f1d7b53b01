import HoldfastTestKit

/// An assistant pairs with the phone, asks, asks again while the link is cut, and once more.
struct AssistantQuestions: Chapter {
  let title = "An assistant asks the phone"
  let troubles = [Trouble.openQuestion]

  func ledgerRows(of stage: isolated Stage) -> LedgerSection? { stage.questions.section }

  func play(on stage: isolated Stage) async throws(DemoFailure) {
    try await stage.questionPhone()
  }
}

extension Trouble {
  /// Every connection ends while a question is open.
  static let openQuestion = Trouble("openQuestion", "cut while asked") { _ in
    .init(noticed: DemoPolicy.work, whole: DemoPolicy.relayWait + DemoPolicy.work)
  }
}

extension Stage {
  fileprivate func questionPhone() async throws(DemoFailure) {
    let data = try await makeHealthData()
    say(.phone, "holds \(data.samples) health samples of two weeks, imported from an export")
    try await pair()
    let (first, second) = (HealthData.weeks[0], HealthData.weeks[1])
    try await ask(data, first)
    try await askOverCut(data, first)
    try await ask(data, second)
    await relay.quit()
  }

  private func pair() async throws(DemoFailure) {
    try await relay.launch()
    _ = await scene.wait(atMost: Self.patience) { $0.relay.ending != nil || $0.relay.pair != nil }
    guard !Task.isCancelled else { throw .interrupted }
    let facts = await scene.facts.relay
    guard let pair = facts.pair, facts.ending == nil else {
      throw .setup("the phone's relay showed no code (\(facts.ending ?? "no word from it"))")
    }
    say(.phone, "shows the word \(pair.word) and the code \(pair.code), for its person to read out")
    let start = Scene.Moment.now
    var refusal = await assistant.open()
    if refusal == nil { refusal = await assistant.signIn(word: pair.word, code: pair.code) }
    guard !Task.isCancelled else { throw .interrupted }
    if let refusal { throw .setup("the assistant could not sign in (\(refusal))") }
    say(.assistant, "has signed in with them over MCP, in \((.now - start).told)")
  }

  private func ask(
    _ data: HealthData, _ week: (start: String, end: String)
  ) async throws(DemoFailure) {
    let start = Scene.Moment.now
    let answer = await assistant.steps(from: week.start, to: week.end)
    guard !Task.isCancelled else { throw .interrupted }
    questions.note(answer, expecting: data.steps(of: week))
    tell(answer, after: .now - start)
  }

  private func askOverCut(
    _ data: HealthData, _ week: (start: String, end: String)
  ) async throws(DemoFailure) {
    try await set(.blackhole(Blackhole(reach: .up)))
    say(.assistant, "asks the same again; the network holds back what the phone answers")
    let assistant = assistant
    async let asking = (assistant.steps(from: week.start, to: week.end), Scene.Moment.now)
    try await pause(.seconds(0.5))
    let start = Scene.Moment.now
    try await set(.reset)
    say(.network, "resets every connection, old and new; the question is still open")
    let noticed = try await noticeByRelay(since: start)
    try await pause(.seconds(0.6))
    try await set(.pass)
    let end = Scene.Moment.now
    say(.network, "works again")
    let (answer, at) = await asking
    guard !Task.isCancelled else { throw .interrupted }
    questions.note(answer, expecting: data.steps(of: week))
    switch answer {
    case .told:
      note(.openQuestion, noticed: noticed, whole: max(at - end, .zero))
      say(.phone, "is connected again without a new code, and answers")
    case .refused: note(.openQuestion, noticed: noticed, whole: nil)
    }
    tell(answer, after: at - end)
  }

  /// Waits for the relay's first status that is not running; returns how long that took.
  private func noticeByRelay(since start: Scene.Moment) async throws(DemoFailure) -> Duration? {
    let isWord = { @Sendable (at: Scene.Moment, word: String) in at >= start && word != "running" }
    _ = await scene.wait(atMost: Self.patience) {
      $0.relay.ending != nil || $0.relay.statuses.contains(where: isWord)
    }
    guard !Task.isCancelled else { throw .interrupted }
    guard let word = await scene.facts.relay.statuses.first(where: isWord) else {
      say(.phone, "has not noticed after \(Self.patience.seconds(0)) s")
      return nil
    }
    let wait = DemoPolicy.relayWait.seconds(0)
    say(.phone, "notices after \((word.at - start).told), and tries again \(wait) s later")
    return word.at - start
  }

  private func tell(_ answer: Assistant.Answer, after time: Duration) {
    switch answer {
    case .refused(let reason): say(.assistant, "is told nothing (\(reason))")
    case .told(let answers):
      let points = answers.first ?? []
      let watch = points.filter { $0.source.contains("Watch") }.map(\.steps).reduce(0, +)
      let days = Set(points.map(\.day)).count
      say(
        .assistant, "is told \(Int(watch)) steps of \(days) days by the watch, after \(time.told)")
    }
  }
}
