import HoldfastCore
import HoldfastHealth
import HoldfastRelayData

/// Relay values that the tests share.
enum RelaySample {
  static let id = requestID("0b7e-1")
  /// 2026-01-03T15:30:00 without a time zone. `utc` and `zoned` are the same time in UTC.
  static let local = HealthTime.local(CivilTime(nanoseconds: 1_767_454_200_000_000_000))
  static let utc = HealthTime.instant(Sample.time, minutesEast: nil)
  static let zoned = HealthTime.instant(Sample.time, minutesEast: -210)

  static let query = HealthDataQuery(
    valueType: .heartRate, start: local, end: utc, groupBy: .week, statistic: .average)
  static let summary = SummaryQuery(
    start: local, end: zoned,
    metrics: [
      SummaryMetric(valueType: .steps),
      SummaryMetric(valueType: .sleep, groupBy: .month, statistic: .sum),
    ])
  static let code = ConnectionCode(
    code: "042137", word: "otter", message: "Tell it \"both\"", expiresIn: .seconds(600),
    resumeToken: "r-1", resumed: true, acceptsParts: true,
    newAssistants: [
      PairedAssistants.Assistant(
        id: "3f9a0c41d2e7", name: AssistantName("Pad", version: "1.2"), since: Sample.time,
        lastQuestion: nil, expiresAt: Sample.time)
    ])
  static let object = HealthObject(
    succeeded: true, bytes: Array(#"{"success":true,"count":0,"x":["é"]}"#.utf8))

  static let backend: [BackendMessage] = [
    .connectionCode(code), .connectionCode(ConnectionCode(code: "1", word: "w", message: "")),
    .question(id, .healthData(query)), .question(id, .summary(summary)),
    .question(id, .summary(SummaryQuery(start: utc, end: utc))), .question(id, .types),
    .cancel(id),
    .unknown(type: "news", id: nil), .unknown(type: "news", id: id),
  ]
  static let phone: [PhoneMessage] = [
    .healthData(id, object), .summary(id, .failure("no \"summary\"")),
    .types(
      id, HealthObject(succeeded: true, bytes: Array(#"{"success":true,"types":[]}"#.utf8))),
    .part(id, HealthPart(kind: .summary, index: 1, count: 3, text: "{\"é\":1")),
    .failure(id, reason: "why"), .failure(nil, reason: ""), .unknown(type: "news", id: id),
  ]
  static let pull = LeasedQuestions(
    questions: [
      LeasedQuestion(id: id, question: .healthData(query), lease: "l1"),
      LeasedQuestion(id: requestID("2"), question: .summary(summary), lease: "l2"),
    ], expiresIn: .seconds(25))

  static func requestID(_ text: String) -> RelayRequestID {
    // The literal has 1 to 64 bytes.
    RelayRequestID(text) ?? { preconditionFailure("no request id: \(text)") }()
  }
}
