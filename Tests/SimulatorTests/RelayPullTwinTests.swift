import HealthRelay
import LinkCore
import LinkHealth
import LinkWire
import Testing

@testable import LinkSimulator

/// The second account of pulls.
@Suite struct RelayPullTwinTests {
  typealias Walk = RelayPullWalk

  private static func leased() throws -> LeasedQuestion {
    let time = HealthTime.instant(Timestamp(nanoseconds: 0), minutesEast: nil)
    let query = HealthDataQuery(valueType: .steps, start: time, end: time)
    let id = try #require(RelayRequestID("q"))
    return LeasedQuestion(id: id, question: .healthData(query), lease: "l")
  }

  private static func at(_ seconds: Int64) -> Instant {
    Instant(nanoseconds: seconds * 1_000_000_000)
  }

  @Test func `the account leases, reads, sends and leases again`() throws {
    let leased = try Self.leased()
    var twin = RelayPullTwin(RelayPullTwin.Numbers())
    #expect(twin.deadline == nil)
    #expect(
      twin.step(.begin, at: .zero) == [.lease(StepID(1), max: 4, within: .seconds(8))])
    #expect(twin.deadline == Self.at(25))
    let page = LeasedQuestions(questions: [leased], expiresIn: .seconds(20))
    #expect(twin.step(.leased(StepID(1), page), at: Self.at(1)) == [.read(StepID(2), leased)])
    // The lease ends at 20 s, and sending takes 4 s of that.
    #expect(twin.deadline == Self.at(16))
    #expect(
      twin.step(.prepared(StepID(2), parts: 1), at: Self.at(15))
        == [.post(StepID(3), of: StepID(2), part: 0, lease: "l", within: .seconds(5))])
    #expect(
      twin.step(.posted(StepID(3)), at: Self.at(16))
        == [.discard(StepID(2)), .lease(StepID(4), max: 4, within: .seconds(8))])
    let none = LeasedQuestions(questions: [], expiresIn: .seconds(20))
    let report = PullReport(answered: 1, ending: .finished)
    #expect(twin.step(.leased(StepID(4), none), at: Self.at(17)) == [.finish(report)])
    #expect(twin.report == report)
    #expect(twin.deadline == nil)
  }

  @Test func `the account waits as long as the backend wishes, within its budget`() {
    var twin = RelayPullTwin(RelayPullTwin.Numbers())
    _ = twin.step(.begin, at: .zero)
    let busy = LinkFailure.http(status: 503, retryAfter: .seconds(3), detail: "")
    #expect(twin.step(.failed(StepID(1), busy), at: .zero) == [])
    #expect(twin.deadline == Self.at(3))
    #expect(
      twin.step(nil, at: Self.at(3)) == [.lease(StepID(2), max: 4, within: .seconds(8))])
    let longer = LinkFailure.http(status: 503, retryAfter: .seconds(90), detail: "")
    let report = PullReport(ending: .failed(longer), again: .seconds(90))
    #expect(twin.step(.failed(StepID(2), longer), at: Self.at(4)) == [.finish(report)])
  }

  @Test func `a pull that does something else is found`() throws {
    #expect(try Walk.finding { $0.give(.begin) } == nil)
    let other = try Walk.finding { walk in
      walk.model = PullModel(PullSettings(leaseLimit: 3))
      walk.give(.begin)
    }
    #expect(other?.hasPrefix("what a pull asks for after Optional(") == true)
    let early = try Walk.finds("the time that a pull waits for") { walk in
      walk.model = PullModel(PullSettings(budget: .seconds(24)))
      walk.give(.begin)
    }
    #expect(early)
    let unreported = try Walk.finds("the outcome of a pull") { walk in
      walk.twin.report = PullReport(answered: 1, ending: .cancelled)
      walk.give(nil)
    }
    #expect(unreported)
    let late = try Walk.finding { walk in
      walk.give(.begin)
      walk.twin.due = Self.at(26)
      walk.give(nil)
    }
    #expect(
      late == "what is wrong with a pull is [], and must be "
        + "[\"pull: it pauses within its budget\"]")
  }

  @Test func `another name, other numbers and another report of nothing are found`() throws {
    let (name, settings, report) = ("health-pull", PullSettings(), PullReport(ending: .finished))
    #expect(try Walk.finding { $0.compareSeed(name, settings, report) } == nil)
    #expect(try Walk.finds("the name of pulls") { $0.compareSeed("pull", settings, report) })
    var other = settings
    other.sendTime = .seconds(3)
    #expect(try Walk.finds("the numbers of the seed") { $0.compareSeed(name, other, report) })
    let left = PullReport(left: 1, ending: .finished)
    #expect(try Walk.finds("a report of nothing") { $0.compareSeed(name, settings, left) })
  }

  @Test func `a body of leases that is read otherwise is found`() throws {
    let body =
      #"{"requests":[{"request_id":"q","type":"health_data_request","payload":"#
      + #"{"value_type":"STEPS","start_time":"1970-01-01T00:00:00Z","#
      + #""end_time":"1970-01-01T00:00:00Z"},"lease":"l"}],"lease_expires_in":20}"#
    let read = try LeasedQuestions.read(Array(body.utf8))
    var must = LeasedQuestions(questions: [try Self.leased()], expiresIn: .seconds(20))
    #expect(Walk.difference(read, must, of: body) == nil)
    #expect(
      Walk.difference(nil, must, of: "{}") == "a body of leases is read as nil: {}")
    must.expiresIn = .seconds(21)
    #expect(Walk.difference(read, must, of: body) != nil)
  }

  @Test func `a body that is read although it is no page is found`() throws {
    #expect(try Walk.finding { _ = $0.unreadable("{}") } == nil)
    let stray = try Walk.finding { walk in
      _ = walk.unreadable(#"{"requests":[],"lease_expires_in":25}"#)
    }
    #expect(stray?.hasPrefix("a body is read as LeasedQuestions(") == true)
  }
}
