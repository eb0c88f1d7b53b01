import LinkCore
import LinkWire
import MessageStream
import Testing

@testable import LinkSimulator

/// The seam of the defects that every link can have.
struct LinkSeamTests {
  private typealias Seam = LinkSeam<StreamModel>

  private let one = AttemptID(1)

  private func pass(
    _ seam: inout Seam, _ input: StreamModel.Input, phase: LinkStatus.Phase = .connected
  ) -> StreamModel.Input? {
    seam.input(input, current: AttemptID(2), status: LinkStatus(phase: phase, mode: .live))
  }

  @Test func `without a defect nothing changes`() {
    var seam = Seam(nil)
    #expect(seam.policy(.messageStream) == .messageStream)
    #expect(pass(&seam, .lost(one, .reset)) == .lost(one, .reset))
  }

  @Test func `rules are taken out of the policy`() {
    var seam = Seam(.noSpread)
    #expect(seam.policy(.messageStream).retry.serverSpread == .nanoseconds(1))
    #expect(pass(&seam, .frame(one, .draining(within: .seconds(5)))) == nil)
    seam = Seam(.noStability)
    #expect(seam.policy(.messageStream).retry.stability.after == .nanoseconds(1))
    seam = Seam(.countResetOnOpen)
    let retry = seam.policy(.messageStream).retry
    #expect(retry.first == .list(Array(repeating: .seconds(1), count: 1000)))
    let shortest = Array(repeating: Duration.milliseconds(100), count: 999)
    #expect(retry.reconnect == .list([.zero] + shortest))
    seam = Seam(.noLiveness)
    let liveness = seam.policy(.messageStream).liveness
    #expect(liveness.ping == nil && liveness.silence == nil)
  }

  @Test func `late events come as those of the present attempt`() {
    var seam = Seam(.takesLateEvents)
    #expect(pass(&seam, .lost(one, .reset)) == .lost(AttemptID(2), .reset))
    #expect(pass(&seam, .ping(one)) == .ping(AttemptID(2)))
    #expect(pass(&seam, .refresh) == .refresh)
  }

  @Test func `a link that polled before the background is not told of the foreground`() {
    var seam = Seam(.losesStandby)
    let back = StreamModel.Input.lifecycle(.background, at: Message.start)
    let front = StreamModel.Input.lifecycle(.foreground, at: Message.start)
    #expect(pass(&seam, back) == back)
    #expect(pass(&seam, front) == front)
    _ = pass(&seam, back, phase: .standby)
    #expect(pass(&seam, front) == nil)
    seam.launched()
    #expect(pass(&seam, front) == front)
  }
}
