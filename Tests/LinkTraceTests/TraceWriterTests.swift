import HoldfastCore
import HoldfastLinkTrace
import Testing

@Suite struct TraceWriterTests {
  @Test func `a header has the values of the policy as numbers, in words and as text`() throws {
    let policy = try LinkPolicy.messageStream.setting([
      ("liveness.silence", "20s"), ("retry.reconnect", "0s,1s,2.5s"),
    ])
    let text = Self.header(policy)
    #expect(text.hasPrefix(#"{"trace":1,"source":"journal","machine":"message-stream","#))
    #expect(text.contains(#""silence":20,"ping":null,"#))
    #expect(text.contains(#""reconnect":"after 0 s, 1 s and 2.5 s""#))
    for (key, value) in policy.values { #expect(text.contains(#""\#(key)":"\#(value)""#)) }
  }

  @Test func `a schedule without end is described`() throws {
    let policy = try LinkPolicy.socket.setting([
      ("retry.reconnect", "1s*2 max 1m +-0.25 min 0s xunlimited")
    ])
    #expect(
      Self.header(policy).contains(
        #""reconnect":"after 1 s, then twice as long each time, at most 1 min, ±25 %, without end""#
      ))
  }

  @Test func `work without a link has no times of a link`() {
    let text = Self.header(.healthSync)
    #expect(!text.contains(#""silence""#))
    #expect(text.contains(#""reconnect""#))
  }

  @Test func `a header has the number of a run only if there are several`() {
    #expect(!Self.header(.socket).contains(#""run""#))
    #expect(Self.header(.socket, run: 2).contains(#""run":2"#))
  }

  @Test(arguments: [
    (Duration.zero, "0"), (.seconds(3), "3"), (.milliseconds(1_500), "1.5"),
    (.microseconds(1), "0.000001"), (.nanoseconds(1_999), "0.000001"),
    (.milliseconds(-250), "-0.25"), (.seconds(34_560_000), "34560000"),
  ])
  func `times are seconds with at most six decimals`(time: Duration, text: String) {
    let fact = TraceFact.world(.want, at: time, "x")
    let line = String(decoding: TraceWriter.line(fact), as: UTF8.self)
    #expect(line == #"{"t":\#(text),"lane":"user","kind":"want","say":"x"}"#)
  }

  private static func header(_ policy: LinkPolicy, run: Int? = nil) -> String {
    let header = TraceHeader(
      .journal, machine: "message-stream", name: "n", startedAt: Timestamp(nanoseconds: 0),
      end: .zero, policy: policy, run: run)
    return String(decoding: TraceWriter.line(header), as: UTF8.self)
  }
}
