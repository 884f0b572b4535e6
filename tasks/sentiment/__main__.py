from tasks.sentiment.cli import main

main()
