import HoldfastCore
import HoldfastLinkChecks
import HoldfastSessionChecks
import HoldfastTestKit

/// A session in the lab: an app that sends prompts, and a backend that answers each with its text.
actor PromptsLab: LabFeature {
  nonisolated let name = "session"
  nonisolated let title = "Session"
  nonisolated let writes = "a prompt"
  nonisolated let app = App.session

  private static let conversation = "5e551011-0000-4000-8000-000000000002"
  private static let pause = Duration.seconds(9)

  private let parts: LabParts
  private var count = 0

  init(_ parts: LabParts) { self.parts = parts }

  func prepare() async throws(DemoFailure) -> [String] {
    parts.arguments(
      app,
      [
        "--key-file", "\(parts.backend.directory)/session-key", "--conversation", Self.conversation,
      ] + LabFeatures.watchable)
  }

  nonisolated func trace(
    of journal: String, start: Instant, startedAt: Timestamp
  ) -> any LiveTrace {
    LiveJournalTrace(SessionsFeature.self, journal: journal, start: start, startedAt: startedAt)
  }

  func work(on phone: Phone) async {
    await each(Self.pause) {
      count += 1
      await phone.type("question \(count)")
    }
  }
}
