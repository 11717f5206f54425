# Every command explains itself: kscc COMMAND --help is kscc help COMMAND.
for command in approve report stats store try analyze; do
  run "$KSCC" help "$command"
  expect_status 0
  mv out wanted
  for option in --help -h; do
    run "$KSCC" "$command" "$option"
    expect_status 0
    expect_same out wanted
  done
done
