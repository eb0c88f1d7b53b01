import HoldfastCore
import HoldfastLinkChecks
import HoldfastLinkTrace
import HoldfastRelayChecks
import HoldfastTestKit

/// A phone in the lab that answers an assistant from its health data.
actor AssistantLab: LabFeature {
  nonisolated let name = "relay"
  nonisolated let title = "Health relay"
  nonisolated let writes = "anything: the assistant asks"
  nonisolated let app = App.relay

  private static let pause = Duration.seconds(12)

  private let parts: LabParts
  private var assistant: Assistant?
  private var isAsking = false

  init(_ parts: LabParts) { self.parts = parts }

  func prepare() async throws(DemoFailure) -> [String] {
    let arguments = parts.arguments(app, ["--time-zone", HealthData.zone] + LabFeatures.watchable)
    guard let place = arguments.firstIndex(of: "--data") else { return arguments }
    _ = try await HealthData(seed: 1, in: parts.scratch.path, phone: arguments[place + 1])
    return arguments
  }

  nonisolated func trace(
    of journal: String, start: Instant, startedAt: Timestamp
  ) -> any LiveTrace {
    LiveJournalTrace(RelayFeature.self, journal: journal, start: start, startedAt: startedAt)
  }

  func receive(_ line: AppLine?, from app: App) async {
    guard case .pair(let pair)? = line else { return }
    Task { await self.signIn(pair) }
  }

  func work(on phone: Phone) async { await each(Self.pause) { await ask() } }

  func say(_ text: String, on phone: Phone) async { Task { await self.ask() } }

  private func signIn(_ pair: AppLine.Pair) async {
    let next = Assistant(http: parts.http, server: await parts.backend.url)
    var refusal = await next.open()
    if refusal == nil { refusal = await next.signIn(word: pair.word, code: pair.code) }
    if let refusal {
      let say = Sentence.closed("The assistant could not sign in: \(refusal)")
      await parts.report(name, .server(say))
    } else {
      assistant = next
      await parts.report(name, .server("An assistant has signed in with the code of the phone."))
    }
  }

  private func ask() async {
    guard let assistant, !isAsking else { return }
    isAsking = true
    defer { isAsking = false }
    await parts.report(name, .server("The assistant asks for the steps of a week."))
    let week = HealthData.weeks[0]
    switch await assistant.steps(from: week.start, to: week.end) {
    case .answered: await parts.report(name, .server("The assistant has the answer."))
    case .refused(let reason):
      let say = Sentence.closed("The assistant has no answer: \(reason)")
      await parts.report(name, .server(say))
    }
  }
}
