import HoldfastCommandKit
import HoldfastCore
import Testing

/// Tests of the instant at which a command gives up the upload of an image.
@Suite struct ProgressDeadlineTests {
  private static func at(_ seconds: Int) -> Instant { Instant.zero.advanced(by: .seconds(seconds)) }

  @Test func `without progress the limit is the end`() {
    #expect(ProgressDeadline(.seconds(30), from: Self.at(5)).end == Self.at(35))
  }

  @Test func `5 MiB at 100 kB a second are sent within a limit of 30 s`() {
    var deadline = ProgressDeadline(.seconds(30), from: .zero)
    var (now, sent) = (Instant.zero, 0)
    let (size, piece) = (5 << 20, 256 << 10)
    while sent < size {
      deadline.take(sent: sent, pending: piece, at: now)
      now = now.advanced(by: Duration.seconds(piece) / 100_000)
      sent += piece
      #expect(now < deadline.end)
    }
    #expect(now > Self.at(30))
  }

  @Test func `a request that is sent whole has the time of its size`() {
    var deadline = ProgressDeadline(.seconds(30), from: .zero)
    deadline.take(sent: 0, pending: 5 << 20, at: Self.at(1))
    #expect(deadline.end == Self.at(31 + 320))
  }

  @Test func `repetitions are no progress`() {
    var deadline = ProgressDeadline(.seconds(30), from: .zero)
    deadline.take(sent: 0, pending: 16_384, at: .zero)
    #expect(deadline.end == Self.at(31))
    deadline.take(sent: 0, pending: 16_384, at: Self.at(20))
    deadline.take(sent: 8_192, pending: 8_192, at: Self.at(20))
    #expect(deadline.end == Self.at(31))
    deadline.take(sent: 8_192, pending: 8_193, at: Self.at(20))
    #expect(deadline.end > Self.at(50))
  }
}
