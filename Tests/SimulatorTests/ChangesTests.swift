import HoldfastCore
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastTestKit
import HoldfastWorlds
import Testing

@testable import HoldfastLinkChecks
@testable import HoldfastMessageChecks
@testable import HoldfastWorldKernel

/// Tests of edits and deletions in the simulated world.
@Suite struct ChangesTests {
  @Test(arguments: ServerKind.allCases)
  func `messages are posted, edited and deleted, and nothing is found`(_ server: ServerKind) {
    let recording = Recording(
      .short(
        server: server,
        [
          (10, Action(.chat, 60)), (60, Action(.send)), (70, Action(.change, 0, "edit")),
          (90, Action(.delete, 5)), (100, Action(.edit, 5)), (110, Action(.change, 0, "delete")),
        ]))
    #expect(recording.outcome.findings == [])
    let events = recording.observations.compactMap {
      if case .fact(.changed(let event)) = $0.what { event } else { nil }
    }
    let edits = events.count { if case .edited = $0 { true } else { false } }
    let deletions = events.count { if case .deleted = $0 { true } else { false } }
    #expect(edits > 10 && deletions > 10)
    let isShown = recording.effects.contains {
      if case .update(.deleted) = $0.effect { true } else { false }
    }
    #expect(isShown || server == .plain)
  }

  /// Returns a week in which others post, or post, edit and delete, while the phone is away.
  private func week(_ actions: [Action]) -> Recording {
    var plan = Plan(
      seed: 3, server: .positions,
      events: [
        Planned(at: .seconds(60), Action(.kill, for: .seconds(604_800)))
      ] + actions.map { Planned(at: .seconds(7200), $0) }, length: .seconds(605_400))
    plan.numbers.history = 300
    return Recording(plan)
  }

  /// Returns the pages that a phone fetched after its launch, until its timeline was whole.
  private func pages(_ recording: Recording) -> [Page] {
    let back = recording.times { if case .launched = $0 { true } else { false } }.last ?? .zero
    let later = recording.inputs.filter { $0.at >= back }
    let calm = recording.times { if case .calm = $0 { true } else { false } }.first ?? back
    return later.filter { $0.at < calm }.compactMap {
      if case .fetched(_, let page) = $0.input { page } else { nil }
    }
  }

  @Test func `a phone that was away for a week is whole after as many pages as with posts alone`() {
    let size = PlayedSeeds.areAll ? 1_000 : 200
    let posts = week([Action(.others, 5 * size)])
    let events = week([Action(.chat, 3 * size), Action(.others, 2 * size)])
    #expect(posts.outcome.findings == [] && events.outcome.findings == [])
    let asked = pages(posts).count
    let pages = pages(events)
    #expect(asked > 0 && pages.count == asked, "\(pages.count) pages, and \(asked)")
    var deleted: Set<MessageID> = []
    let back = events.times { if case .launched = $0 { true } else { false } }.last ?? .zero
    for observation in events.observations where observation.at < back {
      if case .fact(.changed(.deleted(let deletion))) = observation.what {
        deleted.insert(deletion.id)
      }
    }
    #expect(deleted.count > size / 2)
    let fetched = pages.flatMap { $0.messages + $0.changes }
    #expect(!fetched.isEmpty && fetched.allSatisfy { !deleted.contains($0.id) })
  }
}
