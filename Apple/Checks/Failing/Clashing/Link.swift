// A module with a name that SwiftUI has as well.
public struct Link {}
