import HoldfastLinkChecks
import HoldfastRelayChecks
import HoldfastTestKit

/// A scenario in which an assistant pairs with the phone and asks questions, one of them while the
/// link is cut.
struct AssistantQuestions: DemoScenario {
  let name = "assistant"
  let needsTraffic = false
  let title = "An assistant asks the phone"
  let troubles = [Trouble.openQuestion]
  let link: DemoLink? = DemoLink(.relay, "Assistant", RelayFeature.self)

  func play(on environment: isolated DemoEnvironment) async throws(DemoFailure) {
    let data = try await HealthData(
      seed: environment.seed, in: environment.scratch.path, phone: environment.scratch("phone"))
    environment.say(
      .phone, "holds \(data.samples) health samples of two weeks, imported from an export")
    let relay = environment.app(.relay, ["--time-zone", HealthData.zone])
    let assistant = Assistant(http: environment.http, server: await environment.server.url)
    try await pair(relay, assistant, on: environment)
    let (first, second) = (HealthData.weeks[0], HealthData.weeks[1])
    var questions = Questions()
    try await ask(assistant, first, data, &questions, on: environment)
    try await environment.set(.blackhole(Blackhole(reach: .up)))
    environment.say(
      .assistant, "asks the same again; the network holds back what the phone answers")
    let scene = environment.scene
    let asking = Task {
      let answer = await assistant.steps(from: first.start, to: first.end)
      await scene.note { $0.answer = answer }
    }
    environment.atEnd { asking.cancel() }
    try await environment.pause(.seconds(0.5))
    try await environment.play(
      .openQuestion, of: .relay, lasting: .seconds(0.6),
      recovered: "is connected again without a new code, and has answered"
    ) { environment throws(DemoFailure) in
      try await environment.set(.reset)
      environment.say(.network, "resets every connection, old and new; the question is still open")
    } end: { environment throws(DemoFailure) in
      try await environment.set(.pass)
      environment.say(.network, "works again")
      return { if case .answered = $0.answer { true } else { false } }
    }
    report(await environment.scene.facts.answer, first, data, &questions, on: environment)
    try await ask(assistant, second, data, &questions, on: environment)
    await relay.quit()
    environment.ledger.sections.append(questions.section)
  }

  private func pair(
    _ relay: Phone, _ assistant: Assistant, on environment: isolated DemoEnvironment
  ) async throws(DemoFailure) {
    try await relay.launch()
    try await environment.wait { $0[.relay].ending != nil || $0.pair != nil }
    let facts = await environment.scene.facts
    guard let pair = facts.pair, facts[.relay].ending == nil else {
      throw .setup(
        "the phone's relay showed no code (\(facts[.relay].ending?.description ?? "no word from it"))"
      )
    }
    environment.say(
      .phone, "shows the word \(pair.word) and the code \(pair.code), for its person to read out")
    let start = Scene.Moment.now
    var refusal = await assistant.open()
    if refusal == nil { refusal = await assistant.signIn(word: pair.word, code: pair.code) }
    try environment.checkWanted()
    if let refusal { throw .setup("the assistant could not sign in (\(refusal))") }
    environment.say(.assistant, "has signed in with them over MCP, in \((.now - start).shown)")
  }

  private func ask(
    _ assistant: Assistant, _ week: (start: String, end: String), _ data: HealthData,
    _ questions: inout Questions, on environment: isolated DemoEnvironment
  ) async throws(DemoFailure) {
    let answer = await assistant.steps(from: week.start, to: week.end)
    try environment.checkWanted()
    report(answer, week, data, &questions, on: environment)
  }

  /// Counts an answer and prints it.
  private func report(
    _ answer: Assistant.Answer?, _ week: (start: String, end: String), _ data: HealthData,
    _ questions: inout Questions, on environment: isolated DemoEnvironment
  ) {
    questions.note(answer ?? .refused("no answer"), expecting: data.steps(of: week))
    switch answer {
    case .refused(let reason): environment.say(.assistant, "is told nothing (\(reason))")
    case .answered(let answers):
      let points = answers.first ?? []
      let watch = points.filter { $0.source.contains("Watch") }.map(\.steps).reduce(0, +)
      let days = Set(points.map(\.day)).count
      environment.say(.assistant, "is told \(Int(watch)) steps of \(days) days by the watch")
    case nil: environment.say(.assistant, "is told nothing in time")
    }
  }
}

extension Trouble {
  /// A fault that ends every connection while a question is unanswered.
  static let openQuestion = Trouble("openQuestion", "cut while asked") { _, work in
    .init(noticed: work, whole: DemoPolicy.relayWait + work)
  }
}
