// A module whose name SwiftUI uses as well.
public struct Link {}
