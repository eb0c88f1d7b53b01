import Foundation
import Holdfast
import HoldfastCore
import HoldfastSession
@_spi(Script) import SwiftUI
import Testing

@testable import HoldfastUI

/// Tests of the screen of a conversation.
@Suite @MainActor struct ConversationTests {
  @Test func `turns are shown with what became of them`() {
    #expect(
      screen(ConversationView(.preview(TurnRow.samples))).text == [
        "You  12:01 AM", "Which tests fail?",
        "Assistant  12:02 AM", "None of them.",
        "You  12:03 AM", "And on the server?", "Not answered", "[Send again]  [Discard]",
        "You  12:04 AM", "Is it up?", "It is not known whether this arrived",
        "[Send again]  [Discard]",
        "You  12:05 AM", "How long did they take?", "… The answer is being written…",
        "[Stop the answer]", "_Ask a question_  (Send)",
      ])
    #expect(
      screen(ConversationView(.preview(TurnRow.samples)), "de").text.suffix(5) == [
        "Du  0:05", "How long did they take?", "… Die Antwort wird verfasst …",
        "[Antwort abbrechen]", "_Frage stellen_  (Senden)",
      ])
  }

  @Test func `an answer that grows evaluates one row of 1,000`() {
    let chat = Conversation.preview((1...1_000).map { .answer($0, "answer \($0)") })
    let shown = screen(ConversationView(chat))
    shown.resetEvaluations()
    for word in ["Ten", "Ten seconds", "Ten seconds in all."] {
      chat.turns[999].text = word
      shown.render()
      #expect(shown.lines.contains(word))
    }
    #expect(shown.evaluations["TurnRowView"] == 3)
    #expect(shown.evaluations["ConversationView"] == nil)
  }

  @Test func `a question is asked with the field`() async {
    let chat = Conversation.preview()
    let shown = screen(ConversationView(chat))
    #expect(shown.lines.first == "No questions yet")
    shown.type("Which tests fail?")
    shown.press("Send")
    await shown.wait { !chat.turns.isEmpty }
    #expect(shown.lines[1...2] == ["Which tests fail?", "Waiting to be sent"])
    check(shown)
  }

  @Test func `a failed question is discarded by a button`() {
    let chat = Conversation.preview([.prompt(1, "Hello?", .interrupted)])
    let shown = screen(ConversationView(chat))
    #expect(shown.lines[2...3] == ["The answer was interrupted", "[Send again]  [Discard]"])
    shown.press("Discard")
    #expect(chat.turns == [])
  }

  @Test func `only an answer in progress can be stopped`() {
    let chat = Conversation.preview([.prompt(1, "Hello?", .accepted)])
    let shown = screen(ConversationView(chat))
    #expect(shown.buttons.contains { $0.name == "Stop the answer" })
    chat.turns[0].state = .interrupted
    shown.render()
    #expect(!shown.buttons.contains { $0.name == "Stop the answer" })
  }

  @Test func `the header tells the connection, its quality, gaps and notices`() {
    let chat = Conversation.preview(
      connection: ConnectionState(phase: .reconnecting, retryAt: now + 1, reason: .interrupted),
      quality: .poor, gap: .hole, notice: .unanswered(count: 1))
    #expect(
      screen(ConversationView(chat)).lines.prefix(4) == [
        "Reconnecting…  The connection was interrupted.  Next attempt in 1 second  [Try again]",
        "The connection is poor.", "Some messages are missing on the server.",
        "1 question is still without an answer.",
      ])
    #expect(
      screen(ConversationView(chat), "de").lines[1...3] == [
        "Die Verbindung ist schlecht.", "Auf dem Server fehlen einige Nachrichten.",
        "1 Frage ist noch ohne Antwort.",
      ])
  }

  @Test func `a session that is open elsewhere offers to try again`() {
    let chat = Conversation.preview(
      phase: .failed(.configuration("the conversation is open; close it first")))
    let shown = screen(ConversationView(chat))
    #expect(shown.lines.prefix(2) == ["This cannot be opened at present.", "[Try again]"])
    shown.press("Try again")
    #expect(shown.lines.first == "… Opening…")
  }

  @Test(arguments: ["en", "de"])
  func `each state of a prompt, gap and notice has words`(language: String) {
    for state in SessionPromptState.State.allCases {
      _ = screen(ConversationView(.preview([.prompt(1, "a", state)])), language)
    }
    for gap in SessionGap.allCases {
      _ = screen(ConversationView(.preview(gap: gap)), language)
    }
    for notice in [
      .stale(UUID128(high: 0, low: 1)), .clockSkew(.seconds(40)), .unanswered(count: 2),
      .store(.full(detail: "")),
    ] as [SessionNotice] {
      _ = screen(ConversationView(.preview(quality: .degraded, notice: notice)), language)
    }
    #expect(Phrase(SessionNotice.storeRecovered) == nil)
  }
}
