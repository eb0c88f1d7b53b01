import HoldfastCore
import HoldfastRelayServer
import Testing

struct RelayRefusalTests {
  @Test(arguments: [(119, "119 s"), (120, "2 min"), (121, "2 min"), (180, "3 min")])
  func `waits are stated in seconds, and from two minutes on in minutes`(
    seconds: Int, text: String
  ) {
    let refusal = RelayRefusal.tooManyWaiting(retryAfter: .seconds(seconds))
    #expect(
      refusal.description == "Too many questions wait already. Ask again in \(text).")
  }

  @Test(arguments: [
    (RelayRefusal.Away.mayReturn, ". Ask the user to open the app, then ask again."),
    (
      .wasWoken,
      " and did not wake when it was called. Ask the user to open the app, then ask again."
    ),
    (
      .pairAgain,
      ", and its pairing is over. Ask the user to open the app, connect, and give the word and "
        + "code that it shows; then log in again."
    ),
  ])
  func `a refusal states what to do about a disconnected phone`(
    away: RelayRefusal.Away, rest: String
  ) {
    let refusal = RelayRefusal.phoneAway(since: .seconds(60), away)
    #expect(refusal.description == "The phone is not connected (since 60 s)" + rest)
  }
}
