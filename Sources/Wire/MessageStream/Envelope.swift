/// The envelope of REST answers: `{"status":int,"message":string,"data":any}`.
public enum Envelope {
  public static func error(status: Int, message: String) -> [UInt8] { [] }
  public static func message(_ message: Message, status: Int, note: String) -> [UInt8] { [] }
  public static func messages(_ messages: [Message]) -> [UInt8] { [] }
  public static func decodeMessage(
    _ body: [UInt8], shop: ShopID, limits: MessageLimits = MessageLimits()
  ) throws(MessageError) -> Message { throw .malformed(detail: "") }
  public static func decodeNote(_ body: [UInt8]) -> String? { nil }
}
