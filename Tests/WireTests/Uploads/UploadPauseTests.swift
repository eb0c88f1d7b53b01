import HoldfastCore
import HoldfastUploads
import Testing

/// Tests of the pauses for which a server asks while uploads are in progress.
struct UploadPauseTests {
  private static func refusal(_ status: Int, _ retryAfter: Duration?) -> LinkFailure {
    .http(status: status, retryAfter: retryAfter, detail: "busy")
  }

  @Test(arguments: [408, 425, 429, 502, 503, 504])
  func `a pause ends uploads that were handed over before, until it is over`(status: Int) {
    var pause = UploadPause()
    let known = pause.known
    pause.note(Self.refusal(status, .seconds(60)), at: .second(0))
    #expect(
      pause.failure(since: known, at: .second(20)) == Self.refusal(status, .seconds(40)))
    #expect(pause.failure(since: known, at: .second(60)) == nil)
  }

  @Test func `a pause does not end uploads of a machine that knows of it`() {
    var pause = UploadPause()
    let failure = Self.refusal(429, .seconds(60))
    pause.note(failure, at: .second(0))
    let number = pause.number(after: .failed(failure))
    // The machine has not been told of the next one.
    pause.note(failure, at: .second(10))
    pause.told(number)
    #expect(pause.failure(since: pause.known, at: .second(20)) != nil)
    pause.told(pause.number(after: .accepted))
    #expect(pause.failure(since: pause.known, at: .second(20)) != nil)
    pause.told(pause.number(after: .failed(failure)))
    #expect(pause.failure(since: pause.known, at: .second(20)) == nil)
  }

  @Test func `a shorter pause does not end a longer one`() {
    var pause = UploadPause()
    pause.note(Self.refusal(429, .seconds(60)), at: .second(0))
    pause.note(Self.refusal(503, .seconds(1)), at: .second(0))
    #expect(pause.failure(since: 0, at: .second(30)) == Self.refusal(429, .seconds(30)))
  }

  @Test(
    arguments: [
      (429, nil), (429, .zero), (401, .seconds(60)), (413, .seconds(60)), (500, .seconds(60)),
    ]
      as [(Int, Duration?)])
  func `other failures are no pauses`(status: Int, retryAfter: Duration?) {
    var pause = UploadPause()
    pause.note(Self.refusal(status, retryAfter), at: .second(0))
    #expect(pause.failure(since: 0, at: .second(0)) == nil)
    pause.note(.timeout(.response), at: .second(0))
    #expect(pause == UploadPause())
  }
}
