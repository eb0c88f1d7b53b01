import HoldfastTestKit

/// A scenario in which an assistant pairs with the phone and asks questions, also while the link is
/// cut.
struct AssistantQuestions: Chapter {
  let name = "assistant"
  let needsTraffic = false
  let title = "An assistant asks the phone"
  let troubles = [Trouble.openQuestion]

  func play(on stage: isolated Stage) async throws(DemoFailure) {
    let data = try await HealthData(
      seed: stage.seed, in: stage.scratch.path, phone: stage.scratch("phone"))
    stage.say(.phone, "holds \(data.samples) health samples of two weeks, imported from an export")
    let relay = stage.app(.relay, ["--time-zone", HealthData.zone])
    let assistant = Assistant(http: stage.http, server: await stage.server.url)
    try await pair(relay, assistant, on: stage)
    let (first, second) = (HealthData.weeks[0], HealthData.weeks[1])
    var questions = Questions()
    try await ask(assistant, first, data, &questions, on: stage)
    try await stage.set(.blackhole(Blackhole(reach: .up)))
    stage.say(.assistant, "asks the same again; the network holds back what the phone answers")
    let scene = stage.scene
    let asking = Task {
      let answer = await assistant.steps(from: first.start, to: first.end)
      await scene.note { $0.answer = answer }
    }
    stage.atEnd { asking.cancel() }
    try await stage.pause(.seconds(0.5))
    try await stage.play(
      .openQuestion, of: .relay, lasting: .seconds(0.6),
      recovered: "is connected again without a new code, and has answered"
    ) { stage throws(DemoFailure) in
      try await stage.set(.reset)
      stage.say(.network, "resets every connection, old and new; the question is still open")
    } end: { stage throws(DemoFailure) in
      try await stage.set(.pass)
      stage.say(.network, "works again")
      return { if case .told = $0.answer { true } else { false } }
    }
    tell(await stage.scene.facts.answer, first, data, &questions, on: stage)
    try await ask(assistant, second, data, &questions, on: stage)
    await relay.quit()
    stage.ledger.sections.append(questions.section)
  }

  private func pair(
    _ relay: Phone, _ assistant: Assistant, on stage: isolated Stage
  ) async throws(DemoFailure) {
    try await relay.launch()
    try await stage.wait { $0[.relay].ending != nil || $0.pair != nil }
    let facts = await stage.scene.facts
    guard let pair = facts.pair, facts[.relay].ending == nil else {
      throw .setup(
        "the phone's relay showed no code (\(facts[.relay].ending ?? "no word from it"))")
    }
    stage.say(
      .phone, "shows the word \(pair.word) and the code \(pair.code), for its person to read out")
    let start = Scene.Moment.now
    var refusal = await assistant.open()
    if refusal == nil { refusal = await assistant.signIn(word: pair.word, code: pair.code) }
    try stage.checkWanted()
    if let refusal { throw .setup("the assistant could not sign in (\(refusal))") }
    stage.say(.assistant, "has signed in with them over MCP, in \((.now - start).told)")
  }

  private func ask(
    _ assistant: Assistant, _ week: (start: String, end: String), _ data: HealthData,
    _ questions: inout Questions, on stage: isolated Stage
  ) async throws(DemoFailure) {
    let answer = await assistant.steps(from: week.start, to: week.end)
    try stage.checkWanted()
    tell(answer, week, data, &questions, on: stage)
  }

  /// Counts an answer and prints it.
  private func tell(
    _ answer: Assistant.Answer?, _ week: (start: String, end: String), _ data: HealthData,
    _ questions: inout Questions, on stage: isolated Stage
  ) {
    questions.note(answer ?? .refused("no answer"), expecting: data.steps(of: week))
    switch answer {
    case .refused(let reason): stage.say(.assistant, "is told nothing (\(reason))")
    case .told(let answers):
      let points = answers.first ?? []
      let watch = points.filter { $0.source.contains("Watch") }.map(\.steps).reduce(0, +)
      let days = Set(points.map(\.day)).count
      stage.say(.assistant, "is told \(Int(watch)) steps of \(days) days by the watch")
    case nil: stage.say(.assistant, "is told nothing in time")
    }
  }
}

extension Trouble {
  /// A trouble that ends every connection while a question is open.
  static let openQuestion = Trouble("openQuestion", "cut while asked") { _ in
    .init(noticed: DemoPolicy.work, whole: DemoPolicy.relayWait + DemoPolicy.work)
  }
}
